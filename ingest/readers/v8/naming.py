"""Types of nodes, named as DevTools names classes, and values of nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.arrays.compiled import AHEAD, fetch, kernel
from ingest.heap.values import ObjectValues, ValueKind
from ingest.readers.shared.columns import starts_of
from ingest.readers.v8.interfaces import Interfaces
from ingest.readers.v8.rules import DETACHED, targets_of
from ingest.words.text import whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bools, Bytes, Ints, Longs
    from ingest.readers.v8.document import Snapshot, Texts
    from ingest.readers.v8.numbers import Numbers
    from ingest.readers.v8.rules import Edges, EdgeTypes, NodeTypes

_STORED_UNITS = 128
_MOST_DIGITS = 9
_STORED_NAME_BYTES = 512
_V8_CUTS_AT = 1024
"""The most characters of a string in a snapshot of V8."""

_NUMERIC = ("heap number", "smi number", "bigint")
"""Names of nodes of numbers that do not tell the number."""
_LATIN1, _UTF16, _NAME = ValueKind.LATIN1, ValueKind.UTF16, ValueKind.NAME

MODULE, SCOPE = "module ", "scope in "
"""Prefixes of types that stand for the variables of a script, or its functions."""


_GLOBAL, _WITHOUT_URL = "global", " / "
_PROTOTYPE = "(prototype)"
_LISTENERS = "_events"
_CONTEXT = "system / Context"
_OF_MODULES = ("system / SourceTextModule", "extension", "system / Cell", "value")
_SCRIPT = "system / Script"
"""V8's name of a script since 2025; `` / `` and the script's name may follow."""
_DIGEST = re.compile(
    r"[.-](?=[\w-]*[0-9A-Z])(?:[\w-]{8}|[\w-]{10}|[\w-]{16}|[\w-]{20}|[\w-]{32})"
    r"(?=\.\w+$)"
)


@kernel
def _mark_names(
    types: Bytes, names: Ints, states: Bytes, kind: int, is_detached: bool, used: Bools
) -> None:
    """Mark the names of nodes of a kind, of detached ones or of the others."""
    for i in range(len(types)):
        if types[i] == kind and (states[i] == DETACHED) == is_detached:
            used[names[i]] = True


@kernel
def _take_names(
    types: Bytes,
    names: Ints,
    states: Bytes,
    kind: int,
    is_detached: bool,
    row_of: Ints,
    rows: Ints,
) -> None:
    """Look up the names of these nodes in ``row_of``."""
    for i in range(len(types)):
        if types[i] == kind and (states[i] == DETACHED) == is_detached:
            rows[i] = row_of[names[i]]


@kernel
def _measure(
    content: Bytes, end: Longs, text: Ints, is_name: Bytes, kind: Bytes, size: Ints
) -> None:
    """Find the encoding and the size of each value.

    Args:
        content: uint8. Texts, joined as UTF-8.
        end: int64. End of each text.
        text: int32 (V,). The text of each value.
        is_name: uint8 (V,). Whether the value is a name, not a string of the program.
        kind: uint8 (V,). Filled: a `ValueKind`.
        size: int32 (V,). Filled: bytes of the value.
    """
    last = len(text) - 1
    for i in range(len(text)):
        fetch(end, text[min(i + 2 * AHEAD, last)])
        fetch(content, end[text[min(i + AHEAD, last)]])
        row = text[i]
        begin = end[row - 1] if row > 0 else 0
        stop = end[row]
        if is_name[i]:
            kind[i] = _NAME
            if stop - begin > _STORED_NAME_BYTES:
                stop = begin + _STORED_NAME_BYTES
                while stop > begin and content[stop] & 0xC0 == 0x80:
                    stop -= 1
            size[i] = stop - begin
            continue
        units, is_wide, at = 0, False, begin
        while at < stop and units < _STORED_UNITS:
            byte = content[at]
            if byte < 0x80:
                units += 1
            elif byte >= 0xC0:
                units += 1 + (byte >= 0xF0)
                is_wide |= byte >= 0xC4
            else:
                # Inside a character, or an invalid byte.
                is_wide |= at == begin
            at += 1
        kind[i] = _UTF16 if is_wide else _LATIN1
        size[i] = 2 * units if is_wide else units


@kernel
def _store(
    content: Bytes, end: Longs, text: Ints, kind: Bytes, start: Longs, out: Bytes
) -> None:
    """Write each value in its encoding; see `_measure`."""
    last = len(text) - 1
    for i in range(len(text)):
        fetch(end, text[min(i + 2 * AHEAD, last)])
        fetch(content, end[text[min(i + AHEAD, last)]])
        row = text[i]
        at = end[row - 1] if row > 0 else 0
        stop = end[row]
        into, limit = start[i], start[i + 1]
        if kind[i] == _NAME:
            for k in range(limit - into):
                out[into + k] = content[at + k]
            continue
        if kind[i] == _LATIN1:
            while into < limit and at < stop and content[at] < 0x80:
                out[into] = content[at]
                into += 1
                at += 1
        while into < limit:
            code = 0xFFFD
            if at < stop:
                byte = int(content[at])
                at += 1
                more = (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
                if byte < 0x80:
                    code = byte
                elif more > 0:
                    code = byte & (0x3F >> more)
                    for _ in range(more):
                        if at < stop and content[at] & 0xC0 == 0x80:
                            code = code << 6 | (content[at] & 0x3F)
                            at += 1
                        else:
                            code = 0xFFFD
                else:
                    while at < stop and content[at] & 0xC0 == 0x80:
                        at += 1
            if kind[i] == _LATIN1:
                out[into] = min(code, 0xFF)
                into += 1
                continue
            if code >= 0x10000 and into + 4 <= limit:
                code -= 0x10000
                high = 0xD800 + (code >> 10 & 0x3FF)
                out[into], out[into + 1] = high & 0xFF, high >> 8
                into += 2
                code = 0xDC00 + (code & 0x3FF)
            elif code >= 0x10000:
                code = 0xFFFD
            out[into], out[into + 1] = code & 0xFF, code >> 8
            into += 2


class NodeNames:
    """Names and values of the nodes of a snapshot.

    Args:
        snapshot: The snapshot.
        edges: Its edges, with names as recorded.
        kinds: Numbers of the types of nodes.
        types: Numbers of the types of edges.

    Attributes:
        type_names: T names.
        type_row: int32 (N,).
    """

    def __init__(
        self, snapshot: Snapshot, edges: Edges, kinds: NodeTypes, types: EdgeTypes
    ) -> None:
        self._snapshot, self._edges = snapshot, edges
        self._kinds, self._types = kinds, types
        self._strings = snapshot.strings
        self.type_names: list[str] = []
        self._rows: dict[str, int] = {}
        self.type_row = np.full(len(snapshot.type), -1, np.int32)
        self._name_types()
        self._prototypes = self._name_prototypes()
        self._name_interfaces()

    def _row(self, name: str) -> int:
        """The row of a type."""
        row = self._rows.setdefault(name, len(self.type_names))
        if row == len(self.type_names):
            self.type_names.append(name)
        return row

    def text(self, row: int) -> str:
        """A string of the snapshot."""
        if row >= len(self._strings):
            return "(name not recorded)"
        return self._strings.text(row)

    def node_name(self, node: int) -> str:
        """The name of a node as it is recorded."""
        return self.text(int(self._snapshot.name[node]))

    def _name_types(self) -> None:
        snapshot, kinds = self._snapshot, self._kinds
        fixed = {
            kinds.hidden: "(system)",
            kinds.code: "(compiled code)",
            kinds.closure: "Function",
            kinds.regexp: "RegExp",
        }
        by_name = {kinds.object, kinds.native}
        if snapshot.meta.is_of_julia:
            plain = (kinds.string, kinds.synthetic)
            by_name |= set(range(len(snapshot.meta.node_types))) - set(plain)
        present = np.bincount(snapshot.type, minlength=len(snapshot.meta.node_types))
        row_of_kind = np.full(len(present), -1, np.int32)
        for kind, word in enumerate(snapshot.meta.node_types):
            if present[kind] and kind not in by_name:
                row_of_kind[kind] = self._row(fixed.get(kind, f"({word})"))
        np.take(row_of_kind, snapshot.type, out=self.type_row)
        for kind in sorted(by_name - {-1}):
            self._name_by_name(kind)

    def _name_by_name(self, kind: int) -> None:
        """Name the nodes of a kind by their own names."""
        snapshot = self._snapshot
        states = snapshot.detachedness
        # A node of another kind may be marked, too; its class is then the same.
        for is_detached in (False, True):
            used = np.zeros(len(self._strings) + 1, np.bool_)
            _mark_names(snapshot.type, snapshot.name, states, kind, is_detached, used)
            row_of = np.full(len(used), -1, np.int32)
            is_prefixed = is_detached and kind == self._kinds.native
            prefix = "Detached " if is_prefixed else ""
            for name in np.flatnonzero(used).tolist():
                row_of[name] = self._row(class_name(prefix + self.text(name)))
            _take_names(
                snapshot.type, snapshot.name, states, kind, is_detached, row_of,
                self.type_row,
            )  # fmt: skip

    def _name_prototypes(self) -> tuple[Ints, Ints]:
        """Name prototypes differently from instances, whose class they have.

        Returns:
            int32, twice: the prototypes, and the class of each, a function.
        """
        snapshot, kinds, types = self._snapshot, self._kinds, self._types
        classes = np.flatnonzero(snapshot.type == kinds.closure).astype(np.int32)
        found = np.empty(len(classes), np.int32)
        name, back = self._strings_of("prototype", "constructor")
        getter = self._strings.find("get constructor")
        targets_of(classes, self._edges, types.property, name, name, found)
        is_one = found >= 0
        is_one &= snapshot.type[found] == kinds.object
        classes, found = classes[is_one], found[is_one]
        own, gets = np.empty((2, len(found)), np.int32)
        targets_of(found, self._edges, types.property, back, back, own)
        targets_of(found, self._edges, types.property, getter, getter, gets)
        is_one = (own == classes) | (gets >= 0)
        classes, found = classes[is_one], found[is_one]
        if name < 0 or not len(found):
            return found[:0], found[:0]
        self.type_row[found] = self._row(_PROTOTYPE)
        return found, classes

    def _name_interfaces(self) -> None:
        """Name plain objects by their properties."""
        plain, kind = self._rows.get("Object", -1), self._types.property
        edges = self._edges
        if plain < 0 or kind < 0 or self._snapshot.meta.is_of_julia:
            return
        if edges.name[edges.type == kind].max(initial=-1) >= len(self._strings):
            return  # the file is truncated
        is_plain = self.type_row == plain
        # What an emitter has for its listeners is no object of the program.
        if (table := self._strings.find(_LISTENERS)) >= 0:
            is_plain[edges.to[(edges.type == kind) & (edges.name == table)]] = False
        rows = np.flatnonzero(is_plain).astype(np.int32)
        names, chosen = Interfaces(rows, edges, kind, self._strings).names()
        row_of = np.array([self._row(name) for name in names], np.int32)
        self.type_row[rows[chosen >= 0]] = row_of[chosen[chosen >= 0]]

    # ------------------------------------------------------------- scripts

    def scripts_of(self, closures: Ints) -> Ints:
        """int32: the node of the script of each closure; -1 for none."""
        (shared, _), (script, debug) = (
            self._strings_of("shared", "shared"),
            self._strings_of("script", "script_or_debug_info"),
        )
        edges, internal = self._edges, self._types.internal
        info = np.empty(len(closures), np.int32)
        targets_of(closures, edges, internal, shared, shared, info)
        found = np.full(len(closures), -1, np.int32)
        some = np.flatnonzero(info >= 0)
        script_node = np.empty(len(some), np.int32)
        targets_of(info[some], edges, internal, script, debug, script_node)
        known = script_node >= 0
        known &= self._snapshot.type[script_node] == self._kinds.code
        found[some[known]] = script_node[known]
        return found

    def name_scopes(
        self, closures: Ints, scripts: Ints, sources: Ints | None = None
    ) -> None:
        """Name the contexts that closures refer to by their scripts.

        With source maps, a function's context is named by its source, and a script as
        `bundle_name` says.

        Only the context of a script itself directly follows the native context. It has
        those variables that the script declares and its functions use. If several
        contexts follow the native one, they belong to functions and loops, and the
        script has none. Neither does a script with a function in the native context:
        there the one that follows it belongs to a function that was called once.
        """
        plain = [
            row
            for name, row in self._rows.items()
            if name == _CONTEXT or name.startswith(_CONTEXT + " / ")
        ]
        if not plain:
            return
        is_context = np.isin(self.type_row, np.array(plain, np.int32))
        is_context &= self._snapshot.type == self._kinds.object
        (own, previous) = self._strings_of("context", "previous")
        edges, internal = self._edges, self._types.internal
        context = np.empty(len(closures), np.int32)
        targets_of(closures, edges, internal, own, own, context)
        script = np.full(len(self.type_row) + 1, -1, np.int32)
        known = (context >= 0) & (scripts >= 0)
        script[context[known]] = scripts[known]
        contexts = np.flatnonzero(is_context).astype(np.int32)
        above = np.empty(len(contexts), np.int32)
        targets_of(contexts, edges, internal, previous, previous, above)
        parent = np.full(len(self.type_row), -1, np.int32)
        parent[contexts] = above
        _spread(contexts, parent, is_context, script)
        of = script[contexts]
        is_module = (above >= 0) & ~is_context[above] & (of >= 0)
        count = np.bincount(of[is_module], minlength=1)
        is_module &= count[np.where(is_module, of, 0)] == 1
        outside = known & ~is_context[context]
        lines, columns = self._places(closures[outside])
        # A script is itself a function, from its first character.
        is_within = (lines > 1) | (columns > 1)
        is_module &= ~np.isin(of, scripts[outside][is_within])
        names = np.where(of >= 0, self._snapshot.name[of], -1)
        bundles = set[int]()
        if sources is not None:
            mapped = self._snapshot.name[scripts[known & (sources >= 0)]]
            bundles.update(mapped.tolist())
            only = _only_of(context[known], sources[known], len(script))[contexts]
            names = np.where((only >= 0) & ~is_module, only, names)
        for prefix, chosen in (
            (MODULE, is_module),
            (SCOPE, ~is_module & (of >= 0)),
        ):
            rows, called = contexts[chosen], names[chosen]
            for name in np.unique(called).tolist():
                path = script_name(self.text(name))
                if name in bundles:
                    path = bundle_name(path)
                if path:
                    self.type_row[rows[called == name]] = self._row(prefix + path)

    def name_exports(self) -> None:
        """Name the cells of variables that a module exports as its scope is named.

        A module refers to a table, in which the name of each variable is before its
        cell. The edge from the cell to the value gets that name.
        """
        found = [self._strings.find(text) for text in _OF_MODULES]
        if min(found) < 0:
            return
        module, extension, cell, value = found
        snapshot, edges = self._snapshot, self._edges
        at = np.flatnonzero(edges.name == extension)
        at = at[snapshot.name[edges.to[at]] == module]
        for scope, node in zip(
            (np.searchsorted(edges.start, at, "right") - 1).tolist(),
            edges.to[at].tolist(),
            strict=True,
        ):
            if not self.type_names[self.type_row[scope]].startswith(MODULE):
                continue
            for table in edges.to[slice(*edges.start[node : node + 2])].tolist():
                if snapshot.type[table] != self._kinds.array:
                    continue
                row = slice(*edges.start[table : table + 2])
                entries = dict(
                    zip(
                        map(self.text, edges.name[row].tolist()),
                        edges.to[row].tolist(),
                        strict=True,
                    )
                )
                for place, one in entries.items():
                    number = whole_number(place, _MOST_DIGITS)
                    before = "" if number is None else str(number - 1)
                    key = entries.get(before, one)
                    is_string = snapshot.type[key] == self._kinds.string
                    if snapshot.name[one] != cell or not is_string:
                        continue
                    self.type_row[one] = self.type_row[scope]
                    own = slice(*edges.start[one : one + 2])
                    name = edges.name[own]
                    name[name == value] = snapshot.name[key]

    def _strings_of(self, one: str, other: str) -> tuple[int, int]:
        """Rows of two strings; -1 for one that the snapshot does not have."""
        return self._strings.find(one), self._strings.find(other)

    # ------------------------------------------------------------- values

    def values(
        self,
        closures: Ints,
        scripts: Ints,
        sources: Ints | None = None,
        *,
        numbers: Numbers,
        with_synthetic: bool,
    ) -> ObjectValues | None:
        """The values of nodes: texts, names and numbers.

        Args:
            closures: int32. All closures, ascending.
            scripts: int32. The script of each closure; see `scripts_of`.
            sources: int32. Rows of the names of their sources, where these are known
                and are not the scripts; else -1.
            numbers: Values of nodes of numbers.
            with_synthetic: Whether pseudo nodes have their names as values.
        """
        snapshot, kinds = self._snapshot, self._kinds
        is_string = snapshot.type == kinds.string
        named = [kinds.hidden, kinds.code, kinds.symbol, kinds.regexp, kinds.native]
        if with_synthetic:
            named.append(kinds.synthetic)
        has_value = is_string | np.isin(snapshot.type, [k for k in named if k >= 0])
        text = snapshot.name.copy()
        has_value &= text < len(self._strings)
        self._drop_repeated(has_value)
        if kinds.number >= 0:
            numeric = (snapshot.type == kinds.number) | (snapshot.type == kinds.bigint)
            told = [self._strings.find(word) for word in _NUMERIC]
            numeric &= ~np.isin(text, told) & (text < len(self._strings))
            has_value |= numeric
        has_value[numbers.rows] = True
        strings = self._strings
        prototypes, classes = self._prototypes
        text[prototypes] = snapshot.name[classes]
        has_value[prototypes] = text[prototypes] < len(strings)
        scripts = np.where(scripts >= 0, snapshot.name[scripts], -1)
        if sources is not None:
            scripts = np.where(sources >= 0, sources, scripts)
        labels, label_of = self._labels(closures, scripts)
        if labels:
            encoded = [label.encode("utf-8", "replace") for label in labels]
            content = np.concatenate(
                [
                    strings.content[: strings.used],
                    np.frombuffer(b"".join(encoded), "u1"),
                ]
            )
            more = np.cumsum([len(label) for label in encoded], dtype=np.int64)
            end = np.concatenate([strings.end, strings.used + more])
            text[closures] = len(strings) + label_of
            has_value[closures] = True
        else:
            content, end = strings.content, strings.end
        rows = np.flatnonzero(has_value).astype(np.int32)
        if not len(rows):
            return None
        is_name = (~is_string[rows]).view(np.uint8)
        chosen = text[rows]
        del text, has_value
        kind, size = np.empty(len(rows), np.uint8), np.empty(len(rows), np.int32)
        _measure(content, end, chosen, is_name, kind, size)
        at = np.searchsorted(rows, numbers.rows)
        kind[at], size[at] = numbers.kind, numbers.bits.itemsize
        start = starts_of(size)
        out = np.empty(int(start[-1]), np.uint8)
        _store(content, end, chosen, kind, start, out)
        places = start[at][:, None] + np.arange(numbers.bits.itemsize)
        out[places] = numbers.bits[:, None].view(np.uint8)
        return ObjectValues(rows, kind, start, out)

    def _drop_repeated(self, has_value: NDArray[np.bool_]) -> None:
        """Drop empty names, and those that say no more than the type."""
        snapshot, strings = self._snapshot, self._strings
        says_nothing = np.zeros(len(strings) + 1, np.bool_)
        says_nothing[:-1] = np.diff(strings.end, prepend=0) == 0
        for word in ("symbol", "(external)"):
            says_nothing[strings.find(word)] = True
        silent = says_nothing[snapshot.name] & (snapshot.type != self._kinds.string)
        native = np.flatnonzero(snapshot.type == self._kinds.native)
        same = np.zeros(len(strings) + 1, np.bool_)
        for name in np.unique(snapshot.name[native]).tolist():
            same[name] = class_name(self.text(name)) == self.text(name)
        silent[native] = same[snapshot.name[native]]
        has_value &= ~silent

    def _labels(
        self, closures: Ints, scripts: Ints
    ) -> tuple[list[str], NDArray[np.int32]]:
        """Texts with names and places of closures, and int32: the row for each closure.

        Here ``scripts`` are rows of the scripts' names among the strings.
        """
        names = self._snapshot.name[closures].tolist()
        lines, columns = self._places(closures)
        found: dict[tuple[int, int, int, int], int] = {}
        of_each = [
            found.setdefault(key, len(found))
            for key in zip(
                names, scripts.tolist(), lines.tolist(), columns.tolist(), strict=True
            )
        ]
        labels = [
            label(
                self.text(name),
                script_name(self.text(script)) if script >= 0 else "",
                line,
                at,
            )
            for name, script, line, at in found
        ]
        return labels, np.array(of_each, np.int32)

    def _places(self, closures: Ints) -> tuple[Ints, Ints]:
        """int32, twice: line and column of each closure from 1; 0 if not recorded."""
        line, column = (np.zeros(len(closures), np.int32) for _ in range(2))
        meta, location = self._snapshot.meta, self._snapshot.location
        fields = {name: at for at, name in enumerate(meta.location_fields)}
        if not len(location) or not {"object_index", "line", "column"} <= set(fields):
            return line, column
        node = location[:, fields["object_index"]] // len(meta.node_fields)
        at = np.minimum(np.searchsorted(closures, node), max(len(closures) - 1, 0))
        if not len(closures):
            return line, column
        found = closures[at] == node
        for into, name in ((line, "line"), (column, "column")):
            numbers = np.clip(location[found, fields[name]], -1, (1 << 31) - 2)
            into[at[found]] = numbers + 1
        return line, column


@kernel
def _spread(contexts: Ints, parent: Ints, is_context: Bools, script: Ints) -> None:
    """Give the scripts of contexts to the contexts that enclose them."""
    for i in range(len(contexts)):
        at = contexts[i]
        known = script[at]
        while known >= 0:
            at = parent[at]
            if at < 0 or not is_context[at] or script[at] >= 0:
                break
            script[at] = known


def _only_of(context: Ints, sources: Ints, nodes: int) -> Ints:
    """int32 (nodes,): the source of all closures of a context; -1 if they differ."""
    first = np.full(nodes, -1, np.int32)
    first[context] = sources
    first[context[first[context] != sources]] = -1
    return first


def bundle_name(script: str) -> str:
    """The name of a bundle, in all of its builds: without folder and digest."""
    return _DIGEST.sub("", path_of(script).file)


class ScriptPath(NamedTuple):
    """A script, as its last part and the folder of that."""

    file: str
    folder: str


def script_name(node_name: str) -> str:
    """The name of a script, from that of its node; empty if it has none."""
    if node_name == _SCRIPT:
        return ""
    return node_name.removeprefix(_SCRIPT + " / ")


def path_of(script: str) -> ScriptPath:
    """The parts of the name of a script, without the query of a URL."""
    path = script.partition("?")[0] if "://" in script else script
    if path.startswith(("node:", "ext:")):
        return ScriptPath(path, "")
    folder, _, file = path.replace("\\", "/").rpartition("/")
    return ScriptPath(file or path, folder)


def label(name: str, script: str, line: int, column: int) -> str:
    """The text for a closure: ``onTick store.js:12:3 (/srv/app)``."""
    text = name or "(anonymous)"
    if not script:
        return text
    file, folder = path_of(script)
    if line:
        file += f":{line}:{column}"
    return f"{text} {file}" + (f" ({folder})" if folder else "")


def class_name(name: str) -> str:
    """The class of a native object or one of the program: ``<div id="a">`` is a div.

    Source: DevTools, HeapSnapshot.ts, calculateObjectNames.
    """
    if name == _GLOBAL + _WITHOUT_URL:
        return _GLOBAL  # as in a program that writes its own snapshot
    begin = 10 if name.startswith("Detached <") else 0
    if name[:1] != "<" and not begin:
        return name
    space = name.find(" ", begin)
    return name if space < 0 else name[:space] + ">"


def text_lengths(strings: Texts, names: Ints) -> NDArray[np.int64]:
    """int64: length of each string in UTF-16 units; -1 where V8 may have cut it."""
    units = strings.units[names].astype(np.int64)
    units[units >= _V8_CUTS_AT] = -1
    return units
