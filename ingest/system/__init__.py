"""Access to the machine: files, folders, processes, signals, settings."""
