"""Original names and places in a snapshot of a bundled or minified program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ingest.readers.v8.document import Texts
from ingest.readers.v8.naming import script_name
from ingest.readers.v8.source_map import SourceMaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ints
    from ingest.readers.v8.document import Snapshot
    from ingest.readers.v8.source_map import SourceMap

_FEWEST, _LEAST_KNOWN, _LEAST_EXACT = 50, 0.5, 0.08
"""From so many functions of a script on, this share of their places has to be in the
map, and of these have a segment of their own or a name: in builds by esbuild and terser
a quarter or more, with the map of another build one in sixty."""
_LISTED = 3


class _Strings:
    """Strings that are added to those of a snapshot."""

    def __init__(self, strings: Texts) -> None:
        self._strings = strings
        self._rows: dict[str, int] = {}

    def row(self, text: str) -> int:
        return self._rows.setdefault(text, len(self._strings) + len(self._rows))

    def joined(self) -> Texts:
        old = self._strings
        added = [text.encode("utf-8", "replace") for text in self._rows]
        sizes = np.array([len(one) for one in added], np.int64)
        content = np.concatenate(
            [old.content[: old.used], np.frombuffer(b"".join(added), np.uint8)]
        )
        units = np.array([len(text) for text in self._rows], np.int32)
        return Texts(
            content,
            np.concatenate([old.end, old.used + np.cumsum(sizes)]),
            np.concatenate([old.units, units]),
        )


def restore(
    snapshot: Snapshot, closures: Ints, scripts: Ints, path: str
) -> tuple[Ints, list[str]]:
    """Give functions, instances and allocation sites their original names and places.

    Args:
        snapshot: The snapshot; changed.
        closures: int32 (F,). Its functions.
        scripts: int32 (F,). Nodes of their scripts, or -1.
        path: The source maps.

    Returns:
        int32 (F,): rows of the names of their sources, -1 where these are not known;
        and what to say.

    Raises:
        DumpError: the maps cannot be read, or belong to another program or build.
    """
    maps = SourceMaps(Path(path))
    strings = _Strings(snapshot.strings)
    sources = _restore_places(snapshot, closures, scripts, maps, strings)
    sites = _restore_sites(snapshot, maps, strings)
    if sources is None and not sites:
        known = ", ".join(maps.missing()[:_LISTED]) or "none"
        raise maps.refused(
            f"no script of this dump has a source map there; its scripts: {known}"
        )
    snapshot.strings = strings.joined()
    notes = []
    if missing := maps.missing():
        more = " and others" if len(missing) > _LISTED else ""
        shown = ", ".join(missing[:_LISTED])
        notes.append(f"no source map was found for {shown}{more}")
    if sources is None:
        sources = np.full(len(closures), -1, np.int32)
    return sources, notes


def _map_of(script: str, maps: SourceMaps) -> SourceMap | None:
    if not script or script.startswith(
        ("node:", "internal/", "deno:", "ext:", "evalm")
    ):
        return None
    return maps.of(script)


def _restore_places(
    snapshot: Snapshot, closures: Ints, scripts: Ints, maps: SourceMaps,
    strings: _Strings,
) -> Ints | None:  # fmt: skip
    """Change functions and instances; ``None`` if no script has a map."""
    meta, location = snapshot.meta, snapshot.location
    fields = {name: at for at, name in enumerate(meta.location_fields)}
    if not len(location) or not {"object_index", "script_id", "line", "column"} <= set(
        fields
    ):
        return None
    index, number, line, column = (
        fields[name] for name in ("object_index", "script_id", "line", "column")
    )
    nodes = location[:, index] // len(meta.node_fields)
    nodes = np.clip(nodes, 0, len(snapshot.name) - 1)
    row_of = np.full(len(snapshot.name), -1, np.int64)
    row_of[nodes] = np.arange(len(nodes))
    of_script: dict[int, SourceMap | None] = {}
    at = row_of[closures]
    there = (at >= 0) & (scripts >= 0)
    pairs = np.unique(
        np.stack([location[at[there], number], snapshot.name[scripts[there]]], axis=1),
        axis=0,
    )
    for script_id, row in pairs.tolist():
        if of_script.get(script_id) is None:
            name = script_name(snapshot.strings.text(row))
            of_script[script_id] = _map_of(name, maps)
    if not any(of_script.values()):
        return None
    places = np.stack(
        [snapshot.name[nodes], *(location[:, one] for one in (number, line, column))],
        axis=1,
    )
    kinds, of_each = np.unique(places, axis=0, return_inverse=True)
    of_each = of_each.reshape(-1)
    changed = np.array(
        [_changed(snapshot, of_script, strings, *row) for row in kinds.tolist()],
        np.int64,
    ).reshape(-1, 4)
    _check(kinds, changed, of_script, maps)
    new = changed[of_each]
    is_known = new[:, 1] >= 0
    location[is_known, line] = new[is_known, 2]
    location[is_known, column] = new[is_known, 3]
    is_named = new[:, 0] >= 0
    snapshot.name[nodes[is_named]] = new[is_named, 0]
    sources = np.full(len(closures), -1, np.int32)
    has = at >= 0
    has[has] = is_known[at[has]]
    sources[has] = new[at[has], 1]
    return sources


def _changed(
    snapshot: Snapshot,
    of_script: dict[int, SourceMap | None],
    strings: _Strings,
    name: int,
    script_id: int,
    line: int,
    column: int,
) -> tuple[int, int, int, int]:
    """New rows of name and source, line and column; -1 for what is not known."""
    known = of_script.get(script_id)
    place = None if known is None else known.original(line, column)
    if known is None or place is None:
        return -1, -1, -1, -1
    text = snapshot.strings.text(name)
    original = known.function_name(text, line, column) if text else ""
    row = strings.row(original) if original else -1
    return row, strings.row(place.source), place.line, place.column


def _check(
    kinds: NDArray[np.int64],
    changed: NDArray[np.int64],
    of_script: dict[int, SourceMap | None],
    maps: SourceMaps,
) -> None:
    """Refuse maps that know too few places of their scripts.

    Raises:
        DumpError: they belong to another build.
    """
    for script_id, known in of_script.items():
        rows = np.flatnonzero(kinds[:, 1] == script_id)
        if known is None or len(rows) < _FEWEST:
            continue
        there = rows[changed[rows, 1] >= 0]
        exact = known.has_segments(kinds[there, 2], kinds[there, 3])
        exact |= changed[there, 0] >= 0
        if len(there) < _LEAST_KNOWN * len(rows) or exact.mean() < _LEAST_EXACT:
            raise maps.refused(
                f"the source map of {known.file or 'a script'} belongs to another "
                f"build: it fits {int(exact.sum()):,} of the {len(rows):,} functions "
                "and classes of that script"
            )


def _restore_sites(snapshot: Snapshot, maps: SourceMaps, strings: _Strings) -> bool:
    """Change the functions that allocated; tell whether there was a map for one."""
    fields, functions = snapshot.meta.function_fields, snapshot.tree.functions
    if not fields or not len(functions):
        return False
    name, script, line, column = map(
        fields.index, ("name", "script_name", "line", "column")
    )
    found = False
    functions.flags.writeable = True
    for row in functions:
        known = _map_of(snapshot.strings.text(int(row[script])), maps)
        place = None
        if known is not None and row[line] > 0 and row[column] > 0:
            at = int(row[line]) - 1, int(row[column]) - 1
            place = known.original(*at)
        if known is None or place is None:
            continue
        found = True
        original = known.function_name(snapshot.strings.text(int(row[name])), *at)
        if original:
            row[name] = strings.row(original)
        row[script] = strings.row(place.source)
        row[line], row[column] = place.line + 1, place.column + 1
    return found
