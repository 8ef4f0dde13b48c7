"""``python -m ingest``, and the command ``ingest``."""

from __future__ import annotations

import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Until `interrupts.install`, Ctrl-C ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from ingest.system import interrupts


def main() -> None:
    """Run the program in a process of its own, which Ctrl-C ends."""
    try:
        interrupts.install()
        with interrupts.kept():
            with interrupts.held():
                from ingest.cli import main as run

            run()
    except interrupts.Interrupted as interrupted:
        interrupts.say(*interrupted.args)
        sys.exit(interrupted.exit_code)
    finally:
        interrupts.uninstall()


if __name__ == "__main__":
    main()
