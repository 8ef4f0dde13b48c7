"""See `ingest.readers.gcdump.reader`."""
