"""What changed between dumps, computed from their tables, wherever these come from."""
