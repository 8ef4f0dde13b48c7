"""Original names and places in a snapshot of a bundled or minified program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.spans import rows_in
from ingest.readers.v8.document import Texts
from ingest.readers.v8.functions import ScriptFunctions
from ingest.readers.v8.naming import script_name
from ingest.readers.v8.rules import targets_of
from ingest.readers.v8.source_map import SourceMaps
from ingest.readers.v8.variables import Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ints, Longs
    from ingest.errors import DumpError
    from ingest.readers.v8.document import Snapshot
    from ingest.readers.v8.rules import Edges, EdgeTypes
    from ingest.readers.v8.source_map import SourceMap

_FEWEST, _LEAST_KNOWN, _LEAST_EXACT = 50, 0.5, 0.08
"""From so many functions of a script on, this share of their places has to be in the
map, and of these have a segment of their own or a name: in builds by esbuild and terser
a quarter or more, with the map of another build one in sixty."""
_FEWEST_SEEN, _LEAST_SEEN = 5, 0.8
"""From so many functions of a script on whose text is known, this share of them has to
begin where a function can: with the script of another build it is a half or less."""
_LISTED = 3
_MOST_PLACES = 100
"""How many closures of one scope tell where it is."""


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
    snapshot: Snapshot,
    edges: Edges,
    types: EdgeTypes,
    closures: Ints,
    scripts: Ints,
    path: str,
) -> tuple[Ints, list[str]]:
    """Give functions, variables, instances and allocation sites their original names.

    Args:
        snapshot: The snapshot; changed.
        edges: Its edges; names of variables change.
        types: Numbers of their types.
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
    variables = _VariableNames(snapshot, edges, types, strings)
    sources = _restore_places(snapshot, closures, scripts, maps, strings, variables)
    sites = _restore_sites(snapshot, maps, strings)
    if sources is None and not sites:
        known = ", ".join(maps.missing()[:_LISTED]) or "none"
        raise maps.refused(
            f"no script of this dump has a source map there; its scripts: {known}"
        )
    snapshot.strings = strings.joined()
    notes = variables.notes
    if missing := maps.missing():
        more = " and others" if len(missing) > _LISTED else ""
        shown = ", ".join(missing[:_LISTED])
        notes.append(f"no source map was found for {shown}{more}")
    if sources is None:
        sources = np.full(len(closures), -1, np.int32)
    return sources, notes


class _VariableNames:
    """Gives the variables of contexts their original names.

    Args:
        snapshot: The snapshot.
        edges: Its edges; names of variables change.
        types: Numbers of their types.
        strings: Receives names.

    Attributes:
        notes: What is to be said.
    """

    def __init__(
        self, snapshot: Snapshot, edges: Edges, types: EdgeTypes, strings: _Strings
    ) -> None:
        self._texts, self._edges, self._types = snapshot.strings, edges, types
        self._strings = strings
        self.notes: list[str] = []

    def restore(
        self,
        closures: Ints,
        places: Longs,
        of_script: dict[int, SourceMap | None],
        functions: dict[int, ScriptFunctions | str],
    ) -> None:
        """Rename the variables of the contexts of closures.

        Args:
            closures: int32 (F,). The closures.
            places: int64 (F, 3). The script's number, line and column of each.
            of_script: Maps of scripts, by their numbers.
            functions: Their functions, or why these are not known.
        """
        context = self._targets(closures, "context")
        for number, known in of_script.items():
            rows = np.flatnonzero((context >= 0) & (places[:, 0] == number))
            if known is None or not len(rows):
                continue
            there = functions[number]
            try:
                if isinstance(there, str):
                    raise ValueError(there)
                of_names = Variables(there, known)
            except ValueError as error:
                self.notes.append(
                    f"variables of {known.file or 'a script'} keep the names that they "
                    f"have there: {error}"
                )
                continue
            self._rename(context[rows], places[rows, 1:], of_names)

    def _targets(self, nodes: Ints, name: str) -> Ints:
        row = self._texts.find(name)
        found = np.empty(len(nodes), np.int32)
        targets_of(nodes, self._edges, self._types.internal, row, row, found)
        return found

    def _rename(self, context: Ints, places: Longs, of_names: Variables) -> None:
        """Rename variables of contexts of closures, which are at some places."""
        contexts, of = np.unique(context, return_inverse=True)
        # All contexts of a function or block have one description.
        info = self._targets(contexts, "scope_info")
        info = np.where(info >= 0, info, -1 - contexts)
        scopes, scope_of = np.unique(info, return_inverse=True)
        start = self._edges.start
        many = start[contexts + 1] - start[contexts]
        edge = rows_in(start[contexts], many)
        scope = np.repeat(scope_of, many)
        is_variable = self._edges.type[edge] == self._types.context
        edge, scope = edge[is_variable], scope[is_variable]
        keys, key_of = np.unique(
            scope << 32 | self._edges.name[edge], return_inverse=True
        )
        new = (keys & 0xFFFFFFFF).astype(np.int32)
        order = np.argsort(scope_of[of], kind="stable")
        first = np.searchsorted(scope_of[of], np.arange(len(scopes) + 1), sorter=order)
        bounds = np.searchsorted(keys >> 32, np.arange(len(scopes) + 1))
        for at in range(len(scopes)):
            at_places = places[order[first[at] : first[at + 1]][:_MOST_PLACES]]
            names = {
                self._texts.text(int(new[row])): row
                for row in range(bounds[at], bounds[at + 1])
            }
            found = of_names.names(at_places[:, 0], at_places[:, 1], names)
            for short, original in found.items():
                if original != short:
                    new[names[short]] = self._strings.row(original)
        self._edges.name[edge] = new[key_of]


def _map_of(script: str, maps: SourceMaps) -> SourceMap | None:
    if not script or script.startswith(
        ("node:", "internal/", "deno:", "ext:", "evalm")
    ):
        return None
    return maps.of(script)


def _restore_places(
    snapshot: Snapshot, closures: Ints, scripts: Ints, maps: SourceMaps,
    strings: _Strings, variables: _VariableNames,
) -> Ints | None:  # fmt: skip
    """Change functions, instances and variables; ``None`` if no script has a map."""
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
    functions = {
        script_id: _functions_of(known)
        for script_id, known in of_script.items()
        if known is not None
    }
    _check(kinds, changed, of_script, functions, maps)
    is_placed = at >= 0
    placed = location[at[is_placed]][:, [number, line, column]]
    variables.restore(closures[is_placed], placed, of_script, functions)
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


def _functions_of(known: SourceMap) -> ScriptFunctions | str:
    """The functions of a script, or why these are not known."""
    text = known.text()
    if text is None:
        return "the script is not beside its source map"
    try:
        return ScriptFunctions(text)
    except ValueError as error:
        return str(error)


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
    functions: dict[int, ScriptFunctions | str],
    maps: SourceMaps,
) -> None:
    """Refuse maps that know too few places of their scripts, or stand beside others.

    Raises:
        DumpError: they belong to another build.
    """
    for script_id, known in of_script.items():
        rows = np.flatnonzero(kinds[:, 1] == script_id)
        if known is None:
            continue
        text = functions[script_id]
        if not isinstance(text, str) and len(rows) >= _FEWEST_SEEN:
            seen = text.may_begin(kinds[rows, 2], kinds[rows, 3])
            if seen.mean() < _LEAST_SEEN:
                raise _of_another_build(known, int(seen.sum()), len(rows), maps)
        there = rows[changed[rows, 1] >= 0]
        if len(rows) < _FEWEST:
            continue
        exact = known.has_segments(kinds[there, 2], kinds[there, 3])
        exact |= changed[there, 0] >= 0
        if len(there) < _LEAST_KNOWN * len(rows) or exact.mean() < _LEAST_EXACT:
            raise _of_another_build(known, int(exact.sum()), len(rows), maps)


def _of_another_build(
    known: SourceMap, fit: int, many: int, maps: SourceMaps
) -> DumpError:
    return maps.refused(
        f"the source map of {known.file or 'a script'} belongs to another build: it "
        f"fits {fit:,} of the {many:,} functions and classes of that script"
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
