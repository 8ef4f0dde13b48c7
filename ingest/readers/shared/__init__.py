"""Modules that any format may use."""
