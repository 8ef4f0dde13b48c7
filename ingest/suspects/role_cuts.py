"""Cuts of objects that are held one by one, in the same role."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from ingest.analysis.distances import ROOT
from ingest.heap.graph import RootKind
from ingest.runtimes import TypeClass
from ingest.suspects.covers import ENOUGH
from ingest.suspects.cuts import MUCH_MORE, NEARLY, SAMPLE, TOO_MUCH, Cuts
from ingest.suspects.edges import Edge, Verified
from ingest.suspects.joints import by_size, some_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_FEW, _MOST_OTHERS = 20, 2
"""Objects whose fields are looked at, with references to each; and fields told."""


class RoleCuts(Cuts):
    """Cuts of one heap, with those of roles; the arguments are those of `Covers`."""

    def of_group(
        self, kind: int, members: NDArray[np.int32], most: int = SAMPLE
    ) -> tuple[Verified, NDArray[np.int32], bool] | None:
        """The cut of objects that many places of one role hold, and which of them.

        Args:
            kind: The type of the objects.
            members: int32. The objects, the one that retains most first.
            most: How many are looked at; fewer if there are more.

        Returns:
            The cut; the objects that the places hold: all of them if there are more
            than ``most``; and whether other places hold some of what the cut frees.
            ``None`` if most of the objects have no place in common.
        """
        common = self._common(kind, members, most)
        if common is None:
            return None
        edge, held, share = common
        name = self._graph.type_names[kind]
        is_value = self._runtime.type_classes([name])[0] != TypeClass.PROGRAM
        if is_value and self._is_of_values(edge):
            return None
        size = int(self._metrics.retained_bytes[held].sum())
        if len(held) <= most or share >= ENOUGH / TOO_MUCH:  # else it frees too little
            text, kinds, limit = self.role(edge), self._graph.root_kind, TOO_MUCH
            if edge.source != ROOT or kinds[edge.row] != RootKind.THREAD:
                text += f" -> {self._target(edge)}"  # threads end
                # What leads to each of them is its own.
                way = int(self._graph.shallow_bytes[list(edge.below[:-1])].sum())
                limit = min(limit * (1 + len(held) * way / size), MUCH_MORE)
            elif len(edge.below) == 1:
                limit = MUCH_MORE  # and with them what their frames have
            if found := self.of_text(text, [edge], held, size, most=limit):
                return found, held, False
            if found := self._of_workers(edge, held, size):
                return found, held, False
        if is_value or self._metrics.type_retained_bytes[kind] > TOO_MUCH * size:
            return None  # a cut of the type frees that much
        found = self.of_text(self._graph.captions.of(name), [edge], held, size)
        return None if found is None else (found, held, share < ENOUGH)

    def _of_workers(
        self, edge: Edge, members: NDArray[np.int32], retained_bytes: int
    ) -> Verified | None:
        """The cut of threads that each run what leads to some objects, until they end.

        As workers of executors, which have a queue: frames have that as well.
        """
        path = [edge.source]
        while (above := int(self._metrics.path_parent[path[-1]])) >= 0:
            path.append(above)
        if above != ROOT or len(path) > 2 or self.field(edge) not in self._runtime.runs:
            return None
        root = self.root_of(path[-1])
        if self._graph.root_kind[root] != RootKind.THREAD:
            return None
        threads = Edge(ROOT, root, (*path[::-1], *edge.below))
        return self.of_text(self.role(threads), [threads], members, retained_bytes)

    def _is_of_values(self, edge: Edge) -> bool:
        """Whether the runtime's values hold: texts, which all parts of it have."""
        if edge.source == ROOT or self._places.part(edge.source) is not None:
            return False
        of_threads = self._graph.root_object[self._graph.root_kind == RootKind.THREAD]
        is_value = self._class_of(edge.source) != TypeClass.PROGRAM
        return is_value and edge.source not in of_threads

    def of_dominator(self, kind: int, members: NDArray[np.int32]) -> Verified | None:
        """The cut of objects that wait for the finalizer, or that the runtime shares.

        Args:
            kind: Their type.
            members: int32. They, the one that retains most first.
        """
        source = int(self._metrics.dominator[members[0]])
        if source < 0:
            return None
        edge = self.edge(source, int(members[0]))
        size = int(self._metrics.retained_bytes[members].sum())
        texts = [self._target(edge), f"{self.holder(edge)} -> {self._target(edge)}"]
        if self.is_of_table(edge):
            texts.reverse()
        tried = (self.of_text(text, [edge], members, size) for text in texts)
        return next(filter(None, tried), None)

    def _common(
        self, kind: int, members: NDArray[np.int32], most: int
    ) -> tuple[Edge, NDArray[np.int32], float] | None:
        """The place, in words, that most objects have in common, and those that do.

        Also their share of the bytes.
        """
        members = self._most_of(members)
        most = most if len(members) <= most else min(most, SAMPLE)
        sample, sizes = by_size(members, self._metrics.retained_bytes[members], most)
        for tier in (0, 1):
            edges = [self._above(index, kind, tier) for index in sample.tolist()]
            keys = [
                None
                if edge is None or self._is_static_of(edge, index)
                else (self.role(edge), self._target(edge))
                for edge, index in zip(edges, sample.tolist(), strict=True)
            ]
            total: dict[tuple[str, str] | None, float] = defaultdict(float)
            for key, size in zip(keys, sizes.tolist(), strict=True):
                total[key] += size
            common = max(total, key=total.__getitem__)
            share = total[common] / sum(total.values())
            if common is None or 2 * share < 1:
                continue
            is_held = np.array([key == common for key in keys], np.bool_)
            edge = self._on_path(int(sample[np.argmax(is_held)]), kind, tier)
            assert edge is not None
            if self.is_weak(edge) and tier == 0:
                continue
            return edge, members[is_held] if sample is members else members, share
        return None

    def others_of(self, path: Sequence[int], members: NDArray[np.int32]) -> list[str]:
        """The fields that refer to some objects, but for that of a path, in words.

        Empty if they are many, if one is not known, or if few of the objects have it.
        """
        sample, found = some_of(members, _FEW).tolist(), Counter[str | None]()
        for member in sample:
            rows, sources, roots = self.referrers.of(member)
            if len(rows) > _FEW or roots:
                return []
            edges = map(Edge, sources.tolist(), rows.tolist(), repeat((member,)))
            found.update({self.field(edge) and self.role(edge) for edge in edges})
        own = {self.role(self.edge(*path[-2:]))} if len(path) > 1 else set[str]()
        others = [words or "" for words in found if words not in own]
        is_all = all(words and 2 * found[words] >= len(sample) for words in others)
        return others if is_all and len(others) <= _MOST_OTHERS else []

    def _most_of(self, members: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of some objects, the largest first, that have nearly all bytes."""
        sums = np.cumsum(self._metrics.retained_bytes[members])
        return members[: int(np.searchsorted(sums, NEARLY * sums[-1])) + 1]

    def nearest(self, kind: int, members: NDArray[np.int32]) -> tuple[Edge, int] | None:
        """What to name as the holder of objects, untried, and one of them.

        Args:
            kind: Their type.
            members: int32. They, the one that retains most first.
        """
        size = int(self._metrics.retained_bytes[members].sum())
        target = self._joint(members, size)
        if target is not None and (cover := self._best_cover(target, kind)):
            return cover[0], int(members[0])
        found = self._common(kind, members, SAMPLE)
        return None if found is None else (found[0], int(found[1][0]))
