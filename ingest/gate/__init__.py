"""The gate for CI: what dumps of a program say against rules and a baseline."""
