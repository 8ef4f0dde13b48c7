"""Answers and metrics to text; nothing here reads a dump or runs a query."""
