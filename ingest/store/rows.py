"""The values of each property, from the graph's and the metrics' columns.

One function a label; each gives, for a slice of rows, one list a property, in the
order of `ingest.store.schema`. Both ways of writing use them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ingest.graph import MISSING_TYPE_NAME, RootFlag, RootKind
from ingest.store.schema import KEY_BITS
from ingest.text import caption_of, namespace_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.graph import HeapGraph

Columns = dict[str, list[object]]


class Rows:
    """Properties of one dump's nodes, batch by batch.

    Args:
        number: The dump's number.
    """

    def __init__(self, graph: HeapGraph, metrics: HeapMetrics, number: int) -> None:
        self.graph = graph
        self.metrics = metrics
        self.number = number
        self._first_key = number << KEY_BITS
        self._captions = [caption_of(name) for name in graph.type_names]
        self._captions.append(MISSING_TYPE_NAME)  # what index -1 finds

    def _head(self, begin: int, end: int) -> Columns:
        """``key`` and ``dump``, which every label but Dump begins with."""
        first = self._first_key
        return {
            "key": list(range(first + begin, first + end)),
            "dump": [self.number] * (end - begin),
        }

    def objects(self, begin: int, end: int) -> Columns:
        """Objects ``begin`` to ``end``; all real ones, or all placeholders."""
        graph, metrics, part = self.graph, self.metrics, slice(begin, end)
        count = end - begin
        distances = metrics.root_distance[part].tolist()
        captions = self._captions
        domain = graph.domain_index
        return {
            **self._head(begin, end),
            "address": list(map(hex, graph.object_id[part].tolist())),
            "type_name": [captions[t] for t in graph.type_index[part].tolist()],
            "shallow_bytes": graph.shallow_bytes[part].tolist(),
            "retained_bytes": metrics.retained_bytes[part].tolist(),
            "retained_count": metrics.retained_count[part].tolist(),
            "root_distance": [None if d < 0 else d for d in distances],
            "missing": [True if begin >= graph.object_count else None] * count,
            "domain": [None] * count if domain is None else domain[part].tolist(),
        }

    def types(self, begin: int, end: int) -> Columns:
        """Types ``begin`` to ``end``."""
        graph, metrics, part = self.graph, self.metrics, slice(begin, end)
        names = graph.type_names[part]
        return {
            **self._head(begin, end),
            "name": list(names),
            "namespace": [namespace_of(name) for name in names],
            "domain": graph.type_domain[part].tolist(),
            "instance_count": metrics.instance_count[part].tolist(),
            "reachable_count": metrics.type_reachable_count[part].tolist(),
            "shallow_bytes": metrics.type_shallow_bytes[part].tolist(),
            "reachable_bytes": metrics.type_reachable_bytes[part].tolist(),
            "retained_bytes": metrics.type_retained_bytes[part].tolist(),
            "top_count": metrics.type_top_count[part].tolist(),
            "top_retained_bytes": metrics.type_top_retained_bytes[part].tolist(),
        }

    def roots(self, begin: int, end: int) -> Columns:
        """Roots ``begin`` to ``end``."""
        graph, part = self.graph, slice(begin, end)
        flags = graph.root_flags[part]
        return {
            **self._head(begin, end),
            "kind": [RootKind(kind).label for kind in graph.root_kind[part].tolist()],
            "pinned": ((flags & RootFlag.PINNED) != 0).tolist(),
            "weak": ((flags & RootFlag.WEAK) != 0).tolist(),
            "interior": ((flags & RootFlag.INTERIOR) != 0).tolist(),
            "name": [
                self._root_name(kind, container)
                for kind, container in zip(
                    graph.root_kind[part].tolist(),
                    graph.root_type[part].tolist(),
                    strict=True,
                )
            ],
        }

    def _root_name(self, kind: int, container: int) -> str:
        """A root in words, the containing type of a static by its short name."""
        name = RootKind(kind).label.replace("_", " ") + " root"
        return name if container < 0 else f"{name} in {self._captions[container]}"

    def domains(self) -> Columns:
        """All domains."""
        domains = self.graph.domains
        counts, shallow, reachable = self._domain_sums
        return {
            **self._head(0, len(domains)),
            "ordinal": list(range(len(domains))),
            "name": [domain.name for domain in domains],
            "started_ms": [domain.started_ms for domain in domains],
            "ended_ms": [domain.ended_ms for domain in domains],
            "duration_ms": [domain.duration_ms for domain in domains],
            "complete": [domain.complete for domain in domains],
            "object_count": counts.tolist(),
            "shallow_bytes": shallow.tolist(),
            "reachable_bytes": reachable.tolist(),
        }

    @cached_property
    def _domain_sums(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        from ingest.analysis.types import count_by, sum_by

        graph, n = self.graph, self.graph.object_count
        index = graph.domain_index
        index = np.zeros(n, np.int32) if index is None else index[:n]
        live = np.where(self.metrics.root_distance[:n] > 0, index, -1)
        live = live.astype(np.int32)
        size, many = graph.shallow_bytes[:n], len(graph.domains)
        return (
            count_by(index, many),
            sum_by(index, size, many),
            sum_by(live, size, many),
        )

    def dump(self) -> dict[str, object]:
        """What the Dump node says of the heap itself."""
        graph, metrics = self.graph, self.metrics
        weak = int(np.count_nonzero(graph.root_flags & RootFlag.WEAK))
        return {
            "format": graph.format_name,
            "producer": graph.producer,
            "object_count": graph.object_count,
            "missing_count": graph.missing_count,
            "type_count": len(graph.type_names),
            "root_count": len(graph.root_object),
            "weak_root_count": weak,
            "reference_count": graph.reference_count,
            "null_reference_count": graph.null_reference_count,
            "shallow_bytes": int(graph.shallow_bytes.sum()),
            "reachable_count": metrics.reachable_count,
            "reachable_bytes": metrics.reachable_bytes,
            "warning_count": sum(i.count for i in graph.irregularities),
            "warnings": [
                f"{i.kind}: {i.count}" + (f", first in line {i.line}" if i.line else "")
                for i in graph.irregularities
            ],
        }
