"""Columns and what computes on them: memory, files instead of it, compiled kernels."""
