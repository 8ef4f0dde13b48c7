"""Snapshots that Bun writes of the heap of JavaScriptCore.

It has no edges from a Map or a Set to its content (1.1.45 to 1.4.5), because the
collector of JavaScriptCore finds the content without telling the writer. The tables
with room for the entries are recorded, with their sizes.

Source: oven-sh/WebKit, Source/JavaScriptCore/heap/BunV8HeapSnapshotBuilder.cpp, and
runtime/OrderedHashTableHelper.h; also snapshots of Bun 1.1.45 and 1.4.5 of programs
with maps and sets of known sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.runtimes.bun import BUN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.readers.v8.document import Snapshot
    from ingest.readers.v8.rules import Edges, EdgeTypes, NodeTypes

_GLOBAL = "GlobalObject"

_LEAST_ROOM, _MOST_NAMED = 64, 3
_ENVIRONMENT = "system / "
"""Prefix of the names of nodes with the variables of a module or a function."""


def is_of_bun(snapshot: Snapshot, edges: Edges, kinds: NodeTypes) -> bool:
    """Whether Bun wrote a snapshot.

    Its roots are all in one or two pseudo nodes, where V8 has one for each purpose, and
    its global object has JavaScriptCore's name of the class.
    """
    pseudo = np.flatnonzero(snapshot.type == kinds.synthetic)
    if pseudo.tolist() not in ([0], [0, 1]):
        return False
    held = edges.to[edges.start[0] : edges.start[len(pseudo)]]
    return bool((snapshot.name[held] == snapshot.strings.find(_GLOBAL)).any())


def repeated(snapshot: Snapshot, edges: Edges) -> NDArray[np.int64]:
    """int64: the edges without a name beside one with a name to the same node."""
    source = np.repeat(np.arange(len(snapshot.type)), np.diff(edges.start))
    pair = source * len(snapshot.type) + edges.to
    is_empty = edges.name == snapshot.strings.find("")
    at = np.flatnonzero(is_empty)
    return np.asarray(at[np.isin(pair[at], pair[~is_empty])])


def note(snapshot: Snapshot, edges: Edges, types: EdgeTypes, kinds: NodeTypes) -> str:
    """A note on what a snapshot leaves out, and which collections have room for it.

    Args:
        snapshot: The snapshot; tables get counted with their collections.
        edges: Its edges, with names as recorded.
        types: Numbers of the types of edges.
        kinds: Numbers of the types of nodes.
    """
    text = (
        "Bun does not record what Maps and Sets hold: that is below roots of the kind "
        "not_recorded"
    )
    room = np.zeros(len(snapshot.type), np.int64)
    for word in BUN.unrecorded:
        rows = snapshot.name == snapshot.strings.find(word)
        rows &= snapshot.type == kinds.object
        room[rows] = BUN.room(word, snapshot.size_bytes[rows])
    largest = np.argsort(-room, kind="stable")[:_MOST_NAMED].tolist()
    named = [
        f"{_path(row, snapshot, edges, types)} for about {room[row]:,}"
        for row in largest
        if room[row] >= _LEAST_ROOM
    ]
    return text + ("; room for entries: " + ", ".join(named) if named else "")


def _path(row: int, snapshot: Snapshot, edges: Edges, types: EdgeTypes) -> str:
    """A collection by what refers to it: ``Map GlobalObject.sessions``."""
    strings = snapshot.strings
    kind = strings.text(int(snapshot.name[row]))
    at = np.flatnonzero(edges.to == row)
    at = at[np.isin(edges.type[at], (types.property, types.context))]
    if not len(at):
        return f"{kind} {int(snapshot.id[row]):#x}"
    owner = int(np.searchsorted(edges.start, at[0], "right")) - 1
    holder = strings.text(int(snapshot.name[owner])).removeprefix(_ENVIRONMENT)
    return f"{kind} {holder}.{strings.text(int(edges.name[at[0]]))}"
