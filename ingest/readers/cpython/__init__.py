"""Modules shared by the formats of CPython heaps."""
