"""What would be freed if something went, and what to remove to free most."""
