"""Heap dumps of running programs: one module for each runtime.

A capture does not harm the program, and never leaves an incomplete file: what was
written is read to its end before it gets its name, see `ingest.capture.completeness`.
"""

TIMEOUT_S = 60.0
"""Seconds to wait for a response of the program."""

EVERY_S = 10.0
"""Seconds between two snapshots over one connection."""

WHOLE_S = 600.0
"""Seconds that a capture may take, if nothing else limits it."""

QUIET_S = 60.0
"""Seconds within which something must arrive during a capture."""
