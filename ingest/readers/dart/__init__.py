"""See `ingest.readers.dart.reader`."""
