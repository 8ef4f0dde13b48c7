"""Dumps out of running programs: one module a runtime.

None of them harms the program, and none leaves a file that is not whole.
"""

TIMEOUT_S = 60.0
"""How long to wait for a program to give a sign of life."""
