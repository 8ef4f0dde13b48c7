"""Asking a dump that is no database's: the same names, parameters and rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ingest.answers import (
    of_contents,
    of_cycles,
    of_dump,
    of_handlers,
    of_holders,
    of_leaks,
    of_object,
    of_type,
)
from ingest.answers.opened import OpenedHeap
from ingest.errors import QueryError
from ingest.progress import silent
from ingest.queries.answer import Answer
from ingest.queries.library import find
from ingest.words.text import printable
from ingest.words.type_names import Subject, find_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ingest.answers.view import HeapView, Row
    from ingest.dumps.dump import Dump
    from ingest.progress import Progress
    from ingest.queries.library import Query, Value

    Function = Callable[[HeapView, Mapping[str, Value]], list[Row]]

NUMBER = 0
"""What such a dump has for ``$dump``."""

FUNCTIONS: dict[str, Function] = {
    "object": of_object.object_,
    "k-shortest-root-paths": of_object.k_shortest_root_paths,
    "dominator-chain": of_object.dominator_chain,
    "referrers-of": of_object.referrers_of,
    "references-of": of_object.references_of,
    "objsize": of_object.objsize,
    "path-between": of_object.path_between,
    "dominated-types": of_object.dominated_types,
    "type-totals": of_type.type_totals,
    "instances-by-root-path": of_type.instances_by_root_path,
    "root-paths-of-type": of_type.root_paths_of_type,
    "owners-of-type": of_type.owners_of_type,
    "objects-of-type": of_type.objects_of_type,
    "dump": of_dump.dump,
    "leak-suspects": of_dump.leak_suspects,
    "warnings": of_dump.warnings,
    "retained-objects": of_dump.retained_objects,
    "dominator-treemap": of_dump.dominator_treemap,
    "external-bytes": of_dump.external_bytes,
    "retained-types": of_dump.retained_types,
    "type-histogram": of_dump.type_histogram,
    "namespace-histogram": of_dump.namespace_histogram,
    "unreachable-types": of_dump.unreachable_types,
    "async-state-machines": of_dump.async_state_machines,
    "type-tree": of_dump.type_tree,
    "root-path-tree": of_dump.root_path_tree,
    "generation-histogram": of_dump.generation_histogram,
    "segments": of_dump.segments,
    "free-space": of_dump.free_space,
    "domains": of_dump.domains,
    "gc-timeline": of_dump.gc_timeline,
    "allocation-sites": of_dump.allocation_sites,
    "native-memory": of_dump.native_memory,
    "born-between": of_dump.none_earlier,
    "died-between": of_dump.none_earlier,
    "survivors-of-dump": of_dump.none_earlier,
    "survivors-of-three": of_dump.none_earlier,
    "roots-by-kind": of_holders.roots_by_kind,
    "static-roots": of_holders.static_roots,
    "isolates": of_holders.isolates,
    "event-handlers": of_handlers.event_handlers,
    "timers": of_holders.timers,
    "closures": of_holders.closures,
    "strings": of_holders.strings,
    "big-drops": of_leaks.big_drops,
    "accumulation-points": of_leaks.accumulation_points,
    "single-type-chains": of_leaks.single_type_chains,
    "delegate-only": of_leaks.delegate_only,
    "sole-references": of_leaks.sole_references,
    "cycles": of_cycles.cycles,
    "sparse-arrays": of_contents.sparse_arrays,
    "attribute-layouts": of_contents.attribute_layouts,
    "string-duplicates": of_leaks.string_duplicates,
    "finalizable-garbage": of_leaks.finalizable_garbage,
}
"""By name of the query."""

_OF_NODE = frozenset({"dump"})
"""Queries about the node of the dump."""

_OF_PROCESS = frozenset(
    name for name, function in FUNCTIONS.items() if function is of_dump.none_earlier
)
"""Queries about earlier dumps of the same process."""

_OF_MANY = frozenset({"dominated-types", "objsize", "path-between", "referrers-of"})
"""Queries about one object of which the answer follows from many."""

OF_HUBS = frozenset({"k-shortest-root-paths", "references-of"})
"""Queries that a graph answers at once, but those about hubs in seconds."""


def are_tables_faster(query: Query, *, is_one_of_several: bool) -> bool:
    """Whether stored tables answer a query, and not much later than its graph.

    Where one object is asked about, the graph has found it while a column of all
    addresses is read.

    Args:
        query: The query.
        is_one_of_several: Whether there may be other dumps of the same process.
    """
    if query.name not in FUNCTIONS.keys() - _OF_NODE:
        return False
    if query.name in _OF_PROCESS:
        return not is_one_of_several
    is_of_object = any(one.name in {"address", "from"} for one in query.parameters)
    return not is_of_object or query.name in _OF_MANY


def answered(view: HeapView, query: Query, values: Mapping[str, Value]) -> Answer:
    """The answer of a query of `FUNCTIONS`, without captions."""
    rows = FUNCTIONS[query.name](view, values)
    columns = tuple(column.name for column in query.columns)
    return Answer(columns, tuple(tuple(row[one] for one in columns) for row in rows))


class OpenedDump:
    """A dump that has been opened, to be asked what a loaded one can be asked.

    Args:
        dump: The dump; its heap is read at the first question.
    """

    def __init__(self, dump: Dump) -> None:
        self.dump = dump

    @cached_property
    def view(self) -> OpenedHeap:
        """Its heap."""
        about = {"name": self.dump.name, "source": self.dump.source}
        return OpenedHeap(self.dump.tables(), about)

    def ask(self, name: str, given: Mapping[str, str]) -> Answer:
        """Answer a query of the library.

        Raises:
            QueryError: it has an answer in a database only, or a parameter is wrong.
        """
        query = find(name)
        if name not in FUNCTIONS:
            raise QueryError(
                f"{name} needs the graph of a database; load the dump, and ask there"
            )
        answer = answered(self.view, query, query.bind(given, NUMBER))
        return replace(answer, captions=self.dump.graph.captions)

    def ask_all(
        self, queries: Mapping[str, Mapping[str, str]], progress: Progress = silent
    ) -> dict[str, Answer]:
        """Answer several queries, as `ask` does."""
        answers = {}
        for done, (name, given) in enumerate(queries.items()):
            progress("ask", done, len(queries))
            answers[name] = self.ask(name, given)
        return answers

    def find_subject(self, text: str, kind: str = "") -> Subject:
        """Find what ``text`` names; see `ingest.words.type_names.find_subject`.

        Raises:
            NotFound: nothing in the dump is called that, or several types are.
        """
        which = f"dump {printable(self.dump.name)}"
        return find_subject(text, which, self.view, kind)
