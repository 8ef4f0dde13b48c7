"""See `ingest.readers.traverseheap.reader`."""
