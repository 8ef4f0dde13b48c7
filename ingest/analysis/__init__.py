"""From a `HeapGraph` to new columns; nothing here writes into the graph."""
