"""The gate for CI: dumps of a program compared with rules and a baseline."""
