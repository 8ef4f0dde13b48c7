"""Records of facts of a file: header, stacks, modules, totals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingest.readers.cpython.facts import Frame, Module, Thread
from ingest.readers.hrpy.chunks import Declared

if TYPE_CHECKING:
    from ingest.readers.hrpy.chunks import HrpyChunk

LARGEST_ID = (1 << 64) - 1


@dataclass(slots=True)
class Recorded:
    """The content of a file.

    Attributes:
        header: Facts by name; see ``readers/README.md``.
        declared: Names and types.
        chunks: Chunks of objects.
        threads: Threads with their stacks.
        modules: In the order of ``sys.modules``.
        held: Objects that C holds at a known place: the place in words, and the id.
        footer: Totals; empty if the file ends too early.
    """

    header: dict[str, Any] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)
    chunks: list[HrpyChunk] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    modules: list[Module] = field(default_factory=list)
    held: list[tuple[str, int]] = field(default_factory=list)
    footer: dict[str, Any] = field(default_factory=dict)

    def number(self, name: str, otherwise: int) -> int:
        """A number of the header; ``otherwise`` if it has none of that name."""
        value = self.header.get(name, otherwise)
        return value if isinstance(value, int) and 0 <= value < 1 << 62 else otherwise


def clean(name: object) -> str:
    """A name without half surrogate pairs, which cannot be encoded.

    Raises:
        TypeError: the name is not a text.
    """
    if not isinstance(name, str):
        raise TypeError(name)
    if name.isascii():
        return name
    return name.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def ident_of(value: object) -> int:
    """An id.

    Raises:
        ValueError: the value is not an id.
    """
    if not isinstance(value, int) or not 0 <= value <= LARGEST_ID:
        raise ValueError(value)
    return value


def threads_of(rows: list[dict[str, Any]]) -> list[Thread]:
    """The threads of a record of roots.

    Raises:
        ValueError, TypeError, KeyError: the rows are malformed.
    """
    found = []
    for number, row in enumerate(rows, start=1):
        frames = []
        for frame in row["frames"]:
            text = f"{clean(frame['function'])} ({clean(frame['file'])}"
            text += f":{int(frame['line'])})"
            local = [(clean(name), ident_of(at)) for name, at in frame["locals"]]
            frames.append(Frame(text, local))
        name = clean(row.get("name") or "") or f"thread {number}"
        found.append(Thread(name, frames))
    return found


def modules_of(rows: list[list[Any]]) -> list[Module]:
    """The modules of a record of roots.

    Raises:
        ValueError, TypeError: the rows are malformed.
    """
    return [
        Module(clean(name), ident_of(ident), ident_of(space))
        for name, ident, space in rows
    ]


def held_of(rows: list[list[Any]]) -> list[tuple[str, int]]:
    """The objects that C holds, of a record of roots.

    Raises:
        ValueError, TypeError: the rows are malformed.
    """
    return [(clean(place), ident_of(ident)) for place, ident in rows]
