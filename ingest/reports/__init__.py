"""Values to text; nothing here reads a dump or asks a database."""
