"""``python -m ingest``."""

from ingest.cli import main

if __name__ == "__main__":
    main()
