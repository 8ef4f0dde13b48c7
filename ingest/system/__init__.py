"""What the machine gives: files, folders, processes, signals, settings."""
