"""The content of a PyHeap file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.readers.cpython.facts import Thread


@dataclass(slots=True)
class PyHeapRecords:
    """The content of a file.

    Attributes:
        created: Time at which it was written.
        has_texts: Whether objects have texts.
        well_known: Ids of types by their names.
        threads: Threads with their stacks, innermost frame first.
        columns: As in `ingest.readers.pyheap.scan.ObjectBuffers`, of all objects;
            ``ref_field`` has the rows of names.
        names: Names of attributes.
        types: Names of types by their ids.
    """

    created: str = ""
    has_texts: bool = False
    well_known: dict[str, int] = field(default_factory=dict)
    threads: list[Thread] = field(default_factory=list)
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    types: dict[int, str] = field(default_factory=dict)
