"""References that hold objects, and cuts of them that were tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools


class Edge(NamedTuple):
    """A reference or a root that holds an object.

    Attributes:
        source: The object that refers; `ROOT` for a root.
        row: Row of the reference, or of the root.
        below: Objects from the one that is held down to that which the cover is of.
    """

    source: int
    row: int
    below: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """A cut that was tried.

    Attributes:
        text: As ``what-if --cut`` takes it.
        edges: The places that it removes, the one to name first.
        lost: Bool (N + M,). What it frees.
        freed_bytes: The size of that.
    """

    text: str
    edges: tuple[Edge, ...]
    lost: Bools
    freed_bytes: int
