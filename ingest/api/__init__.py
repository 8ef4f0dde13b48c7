"""The public interface; `ingest` has its names."""
