"""An opened dump, with all that can be known without a database."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from ingest.api.reading import ReadingOptions, opened
from ingest.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from ingest.analysis.metrics import HeapMetrics
    from ingest.answers.asking import OpenedDump
    from ingest.api.shown import (
        CutAnswer,
        Report,
        RootPaths,
        Summary,
        Suspects,
        Treemap,
        Why,
    )
    from ingest.dumps.dump import Dump
    from ingest.heap.graph import HeapGraph
    from ingest.heap.identity import Identity
    from ingest.progress import Progress
    from ingest.tables.heap_tables import HeapTables


class Heap:
    """One heap dump in memory; `ingest.open` makes it.

    Nothing is read before it is needed, and nothing is read twice. Frames are Polars
    frames: ``.to_arrow()`` and ``.to_pandas()`` work if pyarrow and pandas are
    installed. Numeric columns without absent values share memory with `graph` and
    `metrics`, so they cost nothing, and cannot be written to.

    Args:
        dump: An opened dump.
    """

    def __init__(self, dump: Dump) -> None:
        self._dump = dump

    def __repr__(self) -> str:
        return f"<ingest.Heap of {self._dump.what}>"

    def close(self) -> None:
        """Free the heap; frames already made stay valid."""
        self._dump.close()
        self.__dict__.pop("tables", None)
        self.__dict__.pop("_asked", None)

    # ------------------------------------------------------------ columns

    @property
    def name(self) -> str:
        """The name of the dump."""
        return self._dump.name

    @property
    def graph(self) -> HeapGraph:
        """The raw columns, as numpy arrays: N objects, E references, R roots.

        Its attributes document dtype, shape and unit of each, such as ``object_id``
        (uint64, N), ``shallow_bytes`` (int64, N), ``ref_target`` (int32, E).
        """
        return self._dump.graph

    @property
    def metrics(self) -> HeapMetrics:
        """The measures, as numpy arrays, such as ``retained_bytes`` (int64, N)."""
        return self._dump.metrics

    @cached_property
    def tables(self) -> HeapTables:
        """All tables of the dump, as ``ingest export`` writes them."""
        return self._dump.tables()

    @cached_property
    def _asked(self) -> OpenedDump:
        from ingest.answers.asking import OpenedDump

        return OpenedDump(self._dump)

    @property
    def identity(self) -> Identity | None:
        """Identifies the dump and its file."""
        _ = self._dump.graph
        return self._dump.identity

    # ------------------------------------------------------------ frames

    def types(self) -> pl.DataFrame:
        """All types of the dump, one row each, in its order.

        Returns:
            Columns as in the table ``types``, among them ``name`` (full), ``caption``
            (short), ``instance_count``, ``shallow_bytes``, ``reachable_bytes`` and
            ``retained_bytes``: bytes that are freed if all instances are.

        Example:
            >>> heap.types().sort("retained_bytes")["caption"][-2]
            'LevelScreen'
        """
        return self.tables.part("types", 0, self.tables.rows("types"))

    def objects(
        self, type: str | None = None, *, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """The objects of the dump, one row each, in its order.

        Args:
            type: Only objects of this type: a full name, or what `paths_to_root` takes.
            columns: Only these columns, which is faster.

        Returns:
            Columns as in the table ``objects``, among them ``object`` (its row),
            ``address`` (hexadecimal), ``type_name``, ``shallow_bytes``,
            ``retained_bytes`` (freed with the object; 0 if unreachable) and
            ``root_distance`` (references from the nearest root, null if unreachable).

        Raises:
            NotFound: there is no such type.

        Example:
            >>> heap.objects("LevelScreen", columns=["address"]).height
            25
        """
        if type is None:
            return self.tables.part("objects", 0, self.tables.rows("objects"), columns)
        subject = self._asked.find_subject(type, "type")
        rows = self._asked.view.instances(subject.name).tolist()
        return self._asked.view.frame("objects", rows, columns)

    def dominators(self) -> pl.DataFrame:
        """The dominator tree: one row for each reachable object.

        Returns:
            ``object`` and ``dominator`` (int32, rows of `objects`; -1 if only the roots
            dominate it), ``retained_bytes`` and ``retained_count`` (int64).

        Example:
            >>> heap.dominators().columns
            ['object', 'dominator', 'retained_bytes', 'retained_count']
        """
        import numpy as np
        import polars as pl

        from ingest.analysis.distances import UNREACHABLE

        metrics = self.metrics
        reachable = metrics.dominator != UNREACHABLE
        columns: dict[str, NDArray[Any]] = {
            "object": np.arange(len(reachable), dtype=np.int32),
            "dominator": metrics.dominator,
            "retained_bytes": metrics.retained_bytes,
            "retained_count": metrics.retained_count,
        }
        if not reachable.all():
            columns = {name: column[reachable] for name, column in columns.items()}
        return pl.DataFrame(columns)

    # ------------------------------------------------------------ answers

    def summary(self, *, top: int = 10) -> Summary:
        """The answer of ``ingest info``: figures, suspects, largest types and objects.

        Args:
            top: How many types and objects to list.

        Example:
            >>> heap.summary()["objects"]
            3784
        """
        from ingest.api.shown import Summary

        return Summary.of(self._dump, top)

    def suspects(self) -> Suspects:
        """Leak suspects, the best first: what piles up, what holds it, where to cut.

        Example:
            >>> heap.suspects()[0]["cut"]
            'a static field of GameEvents -> ScoreChangedEventHandler'
            >>> heap.suspects().frame()["bytes"].dtype
            Int64
        """
        from ingest.api.shown import Suspects

        return Suspects.of(self._dump)

    def paths_to_root(self, subject: str, k: int = 5) -> RootPaths:
        """Shortest paths that keep an object, or the objects of a type, alive.

        Args:
            subject: An address such as ``0x1c15d2``, or a type's full or short name.
            k: The most paths.

        Raises:
            NotFound: the dump has no such object or type.

        Example:
            >>> heap.paths_to_root("LevelScreen").frame()["instance_count"].to_list()
            [24, 1]
        """
        from ingest.api.shown import RootPaths

        return RootPaths.of(self._asked, subject, k)

    def why(self, subject: str, *, paths: int = 5) -> Why:
        """The answer of ``ingest why``: paths, dominators, referrers or owners.

        Args:
            subject: As `paths_to_root` takes it.
            paths: The most paths.

        Raises:
            NotFound: the dump has no such object or type.
        """
        from ingest.api.shown import Why

        return Why.of_file(self._asked, subject, paths)

    def query(self, query: str, **parameters: object) -> pl.DataFrame:
        """Ask a query of the library, as `Graph.query` does for a loaded dump.

        Args:
            query: Its name, such as ``big-drops``; see ``ingest queries``.
            parameters: Its parameters, such as ``limit=5``. Addresses and types
                may be spelled as `why` takes them.

        Returns:
            The columns that the query declares.

        Raises:
            UnknownQuery: no query has that name.
            BadParameter: a parameter is missing, unknown or mistyped.
            QueryError: only a database can answer it.
            NotFound: the dump has no such object or type.

        Example:
            >>> heap.query("big-drops", limit=1)["child_count"].to_list()
            [25]
        """
        from ingest.api.asked import AskedFile, spelled
        from ingest.api.shown import frame_of
        from ingest.queries.library import find

        chosen, asked = find(query), AskedFile(self._asked)
        given = {key: str(value) for key, value in parameters.items()}
        chosen.bind(given, 0)
        return frame_of(asked.ask(chosen, spelled(asked, chosen, given)[0]))

    def what_if(
        self,
        cuts: Sequence[str] = (),
        *,
        best: int | None = None,
        free: int = 100,
        top: int = 10,
    ) -> CutAnswer:
        """What is freed, exactly, if references or objects are removed.

        Args:
            cuts: Addresses, types, or references as ``Cache.items -> List``.
            best: How many further references to choose; 3 by default, 0 with ``cuts``.
            free: Stop choosing at this percentage of the reachable heap.
            top: How many types to list.

        Raises:
            NotFound: there is no such object, type or reference.

        Example:
            >>> answer = heap.what_if(["LevelScreen"])
            >>> answer["reachable_bytes"] > answer["freed"]["bytes"] > 800_000
            True
        """
        from ingest.api.shown import CutAnswer

        return CutAnswer.of(self._dump, cuts, best=best, free=free, top=top)

    def report(self) -> Report:
        """The leak report, as ``ingest report`` writes it."""
        from ingest.api.shown import Report

        return Report.of_file(self._asked)

    def treemap(self) -> Treemap:
        """The dominator tree as a chart in a notebook, or as indented text."""
        from ingest.api.shown import Treemap

        return Treemap(self._asked)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def open_dump(
    dump: str, *, progress: Progress = silent, **reading: Unpack[ReadingOptions]
) -> Heap:
    """Open a heap dump: a file of any format, or a folder of ``ingest export``.

    Args:
        dump: A path, ``ARCHIVE.zip::MEMBER``, a folder, ``FLEET::DUMP``, or ``-``.
        progress: Called with stage, units done, and their number or ``None``.
        reading: Options; see `ingest.api.reading.ReadingOptions`.

    Raises:
        DumpError: it cannot be read. If the file exists, the error is raised when the
            heap is needed.
        BadParameter: an option is wrong.

    Example:
        >>> ingest.open("example.gclog", fold="none").graph.object_count
        3784
    """
    return Heap(opened(dump, reading, progress))
