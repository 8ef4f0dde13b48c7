"""Columns in memory or in files, and the compiled kernels that compute on them."""
