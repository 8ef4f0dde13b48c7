"""See `ingest.readers.gclog.reader`."""
