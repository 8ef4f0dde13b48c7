"""Redaction: a heap without the values that its program had in memory.

A heap is redacted once, as a reader returns it, so that no value can reach tables, the
graph, reports or messages. The structure is kept: objects, sizes, addresses,
references, roots, generations, and the names of types and fields unless patterns say
otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import translate
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

import numpy as np

from ingest.heap.values import ObjectValues, ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph, Part, ThreadStacks
    from ingest.heap.history import History

# One name in a full type name, with the angle brackets of names that compilers make:
# `System.Action`1[[Game.Level+<Load>d__3, Game]]` has four.
_NAME = re.compile(r"(?:(?<![^\s.+$/:\[,(])<[^<>]*>|[^\[\]<>,\s&*|(){}=])+")
_SEPARATOR = re.compile(r"([.+$/:]+|`\d+)")
MARK = "redacted by heaproots"
"""In a file: blank values in it stand for others."""

FILLER = ord("*")
"""Stands for each character of a text, where a zero byte cannot."""

_TEXTS = (ValueKind.LATIN1, ValueKind.UTF16, ValueKind.NAME)


def of_redacted_file(graph: HeapGraph) -> HeapGraph:
    """The heap of a file with `MARK`: without the values that are blank in it."""
    owners = tuple(
        f"owner-{i}" if name and not name.strip("\0*") else name
        for i, name in enumerate(graph.owners)
    )
    values = graph.values
    if values is not None:
        told = (values.content != 0) & (values.content != FILLER)
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(told)])
        is_told = before[values.start[1:]] > before[values.start[:-1]]
        rows = np.full(len(graph.object_id), -1, np.int32)
        rows[values.object_index[is_told]] = values.object_index[is_told]
        values = values.renumbered(rows)
    return replace(
        graph, owners=owners, values=values, field_values=None, is_redacted=True
    )


@dataclass(frozen=True, slots=True)
class Redaction:
    """What to remove from a heap, and how.

    Attributes:
        types: Globs of types whose names are hashed, together with the fields that only
            such types have; with ``!``, types whose names are kept. The last match
            decides. A pattern ``Game.*`` also matches ``Game`` itself.
        salt: Secret that is hashed with every name and text. With it, texts of objects
            are hashed, so that equal ones stay equal; without it, they are removed, and
            names are hashed with the digest of the file.
    """

    types: tuple[str, ...] = ()
    salt: str = ""

    def digest(self, file_sha256: str) -> str:
        """The digest of the redacted dump: it differs from that of the file."""
        told = "\0".join((file_sha256, self.salt, *self.types))
        return sha256(f"redacted\0{told}".encode()).hexdigest()

    def hashed(self, text: str, file_sha256: str) -> str:
        """The hash of a name or a text."""
        return self._hasher(file_sha256)(text)

    def type_name(self, name: str, file_sha256: str) -> str:
        """A full name of a type, with hashes for names that a pattern matches."""
        return self._type_name(name, self._hasher(file_sha256))

    def part(self, part: Part, file_sha256: str) -> Part:
        """The part of a file without the name of its process."""
        if not part.process:
            return part
        hashed = self._hasher(file_sha256)(part.process)
        return replace(part, process=f"process-{hashed}")

    def applied(self, graph: HeapGraph, file_sha256: str) -> HeapGraph:
        """The heap without values, and with the chosen names hashed.

        Args:
            graph: The heap.
            file_sha256: Digest of its file.
        """
        hashed = self._hasher(file_sha256)
        names = tuple(self._type_name(name, hashed) for name in graph.type_names)
        external = graph.external
        if external is not None:
            kinds = tuple(f"external-{i}" for i in range(len(external.names)))
            external = replace(external, names=kinds)
        return replace(
            graph,
            producer="",
            notes=(),
            type_names=names,
            field_names=self._field_names(graph, names, hashed),
            owners=tuple(f"owner-{i}" for i in range(len(graph.owners))),
            stacks=self._stacks(graph.stacks, hashed),
            domains=tuple(
                replace(domain, name=f"domain-{i}")
                for i, domain in enumerate(graph.domains)
            ),
            values=self._values(graph.values, hashed),
            field_values=None,
            external=external,
            history=self._history(graph.history, hashed),
            part=None if graph.part is None else self.part(graph.part, file_sha256),
            other_parts=tuple(self.part(p, file_sha256) for p in graph.other_parts),
            is_redacted=True,
        )

    def _hasher(self, file_sha256: str) -> Callable[[str], str]:
        key = sha256((self.salt or file_sha256).encode()).digest()

        def hashed(text: str) -> str:
            data = text.encode("utf-8", "surrogatepass")
            return blake2b(data, digest_size=5, key=key).hexdigest()

        return hashed

    def _type_name(self, name: str, hashed: Callable[[str], str]) -> str:
        """A full name in which each name that a pattern matches is hashed."""
        if not self.types:
            return name
        return _NAME.sub(
            lambda found: (
                _hashed_parts(found[0], hashed)
                if self._is_hashed(found[0])
                else found[0]
            ),
            name,
        )

    def _is_hashed(self, name: str) -> bool:
        answer = False
        for pattern in self.types:
            glob = pattern.removeprefix("!")
            if _matches(name, glob):
                answer = not pattern.startswith("!")
        return answer

    def _field_names(
        self, graph: HeapGraph, names: Sequence[str], hashed: Callable[[str], str]
    ) -> tuple[str, ...]:
        """Names of fields, hashed if only types with hashed names have the field."""
        if not self.types:
            return graph.field_names
        is_kept = np.array(
            [new == old for new, old in zip(names, graph.type_names, strict=True)]
        )
        kept = np.zeros(len(graph.field_names), np.bool_)
        if graph.ref_field is not None:
            sources = np.repeat(graph.type_index, np.diff(graph.ref_start))
            of_kept = is_kept[sources] & (graph.ref_field >= 0)
            kept[graph.ref_field[of_kept]] = True
        if graph.root_field is not None:
            of_kept = (graph.root_type >= 0) & (graph.root_field >= 0)
            of_kept &= is_kept[graph.root_type]
            kept[graph.root_field[of_kept]] = True
        return tuple(
            name if kept[row] else f"f{hashed(name)}"
            for row, name in enumerate(graph.field_names)
        )

    def _values(
        self, values: ObjectValues | None, hashed: Callable[[str], str]
    ) -> ObjectValues | None:
        """Texts as hashes if there is a salt; a hash would not hide a number."""
        if values is None or not self.salt:
            return None
        is_text = np.isin(values.kind, _TEXTS)
        rows = values.object_index[is_text]
        texts = [hashed(text or "") for text in values.pick(rows)]
        width = len(texts[0]) if texts else 0
        content = np.frombuffer("".join(texts).encode("ascii"), np.uint8)
        kind: NDArray[np.uint8] = values.kind[is_text].copy()
        kind[kind == ValueKind.UTF16] = ValueKind.LATIN1
        start = np.arange(len(texts) + 1, dtype=np.int64) * width
        return ObjectValues(rows, kind, start, content)

    def _stacks(
        self, stacks: ThreadStacks | None, hashed: Callable[[str], str]
    ) -> ThreadStacks | None:
        """Stacks of threads, whose methods' names are treated like those of types."""
        if stacks is None:
            return None
        frames = tuple(self._type_name(frame, hashed) for frame in stacks.frames)
        return replace(stacks, frames=frames)

    def _history(
        self, history: History | None, hashed: Callable[[str], str]
    ) -> History | None:
        """The history, whose functions' names are treated like those of types."""
        if history is None or history.allocations is None:
            return history
        sites = tuple(
            tuple(self._type_name(function, hashed) for function in stack)
            for stack in history.allocations.sites
        )
        return replace(history, allocations=replace(history.allocations, sites=sites))


def _matches(name: str, glob: str) -> bool:
    return any(
        re.match(translate(pattern), name) is not None
        for pattern in ({glob, glob.removesuffix(".*")} if glob != ".*" else {glob})
    )


def _hashed_parts(name: str, hashed: Callable[[str], str]) -> str:
    """A qualified name with each part hashed, so that namespaces are still a tree."""
    parts = _SEPARATOR.split(name)
    return "".join(
        part if at % 2 or not part else f"x{hashed(part)}"
        for at, part in enumerate(parts)
    )
