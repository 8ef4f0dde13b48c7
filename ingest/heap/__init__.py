"""The heap as columns, its values and its history."""
