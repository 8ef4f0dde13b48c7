"""Heap dumps of running programs: one module for each runtime.

A capture does not harm the program, and never leaves an incomplete file.
"""

TIMEOUT_S = 60.0
"""How long to wait for a response of the program."""
