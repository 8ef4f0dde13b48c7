"""Modules shared by the .NET formats and the live capture."""
