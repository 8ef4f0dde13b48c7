"""See `ingest.readers.nettrace.reader`."""
