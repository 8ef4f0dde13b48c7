"""A heap and its metrics as named columns; nothing here needs a server."""
