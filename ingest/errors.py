"""What can go wrong, as a tree; the exit code belongs to the class.

::

    IngestError                exit 1   anything not named below
    ├── DumpError              exit 3   the dump cannot be read
    │   ├── UnknownFormat               no reader claims its first bytes
    │   ├── MalformedDump               a record contradicts the format
    │   └── TruncatedDump               the file ends too early (only with --strict)
    ├── InvalidGraph           exit 4   the columns contradict one another: our fault
    ├── QueryError             exit 5   a query or its parameters are wrong
    │   ├── UnknownQuery                no query of that name
    │   └── BadParameter                missing, unknown or mistyped
    ├── StoreError             exit 6   Neo4j refused, or was lost on the way
    │   ├── ServerUnavailable           nothing answers at the address
    │   ├── ServerFailed                an error of its own, such as a full disk
    │   │   └── NeedsRestart            after which it does nothing more
    │   ├── Conflict                    another process was first
    │   ├── AlreadyLoaded               and has loaded the same file (never shown)
    │   ├── AccessRefused      exit 7   wrong user name or password
    │   ├── UnknownDump        exit 9   no ready dump of that name
    │   └── NotFound           exit 10  no such object or type in the dump
    ├── EmbeddedError          exit 8   the embedded Neo4j cannot be started
    ├── CaptureError           exit 11  a running program cannot be captured
    └── NotEnoughMemory        exit 12  the dump needs more than there is
        └── QueryTooLarge               a query needs more than Neo4j may take

    exit 0    done                      exit 2    wrong usage
    exit 20   `ingest check` has findings
    exit 21   `ingest check` was given an incomplete dump
    exit 22   `ingest redact --prove` found that the copy is not as it should be
    exit 130  interrupted (Ctrl-C)   exit 143, 129  by SIGTERM, SIGHUP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path


FINDINGS = 20
"""Exit code of `ingest check` if there are findings: nothing went wrong in the tool."""


INCOMPLETE = 21
"""Exit code of `ingest check` if a dump is incomplete, which proves nothing."""


UNPROVED = 22
"""Exit code of `ingest redact` if its copy has secrets left, or another heap."""


class IngestError(Exception):
    """Base of all errors shown to the user; the message is one line.

    Notes (``add_note``) are further lines for a terminal, such as the place in a query.
    """

    exit_code: ClassVar[int] = 1


class DumpError(IngestError):
    """The dump cannot be read.

    Args:
        message: What is wrong, and what to do about it.
        path: The dump; ``None`` for standard input.
        line: 1-based line of the first byte at fault, for text formats.
        offset: Byte offset of the fault in the (decompressed) dump.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        offset: int | None = None,
    ) -> None:
        place = "" if path is None else f"{path}: "
        if line is not None:
            place += f"line {line}: "
        if offset is not None:
            place += f"byte {offset}: "
        super().__init__(place + message)
        self.line = line
        self.offset = offset


class UnknownFormat(DumpError):
    """No reader claims the first bytes of the file."""


class MalformedDump(DumpError):
    """A record contradicts the format."""


class TruncatedDump(DumpError):
    """The file ends inside a record or a section."""


class InvalidGraph(IngestError):
    """A column of the graph breaks its own requirements: a bug in a reader."""

    exit_code = 4


class QueryError(IngestError):
    """A ``.cypher`` file or its parameters are wrong."""

    exit_code = 5


class UnknownQuery(QueryError):
    """The library has no query of that name."""


class BadParameter(QueryError):
    """A parameter is missing, unknown or of the wrong type."""


class StoreError(IngestError):
    """Neo4j refused a statement, or the connection was lost."""

    exit_code = 6


class ServerUnavailable(StoreError):
    """Nothing answers at the server's address."""


class ServerFailed(StoreError):
    """The server has met an error of its own, such as a full disk."""


class NeedsRestart(ServerFailed):
    """The server does nothing more until it is restarted."""


class Conflict(StoreError):
    """A number or a name that must be unique is already taken."""


class InTheWay(StoreError):
    """Another command did the same at that moment; trying again may succeed."""


class AlreadyLoaded(StoreError):
    """Another process has loaded the same file in the meantime."""


class AccessRefused(StoreError):
    """The server does not accept the user name and password."""

    exit_code = 7


class UnknownDump(StoreError):
    """The database has no ready dump of that name."""

    exit_code = 9


class NotFound(StoreError):
    """The dump has no object or type of that name."""

    exit_code = 10


class EmbeddedError(IngestError):
    """The embedded Neo4j cannot be installed or started."""

    exit_code = 8


class CaptureError(IngestError):
    """A running program cannot be reached, or sends no complete dump."""

    exit_code = 11


class NotEnoughMemory(IngestError):
    """A dump needs more memory than there is, or than it may take."""

    exit_code = 12


class QueryTooLarge(NotEnoughMemory):
    """A query needs more memory than the server may take for it."""
