"""The heap as columns, its values and its history: what readers make."""
