"""Tests of what changed between dumps."""
