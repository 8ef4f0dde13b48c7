"""``python -m ingest``, and the command ``ingest``."""

from __future__ import annotations

import signal
import sys

from ingest import interrupts


def main() -> None:
    """Run the program in a process of its own, which Ctrl-C ends."""
    try:
        interrupts.install()
        from ingest.cli import main as run

        run()
    except interrupts.Interrupted as interrupted:
        interrupts.say(*interrupted.args)
        sys.exit(interrupts.EXIT_CODE)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
