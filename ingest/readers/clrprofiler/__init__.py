"""See `ingest.readers.clrprofiler.reader`."""
