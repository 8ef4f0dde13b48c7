"""Values in fields of objects, as ``--values`` keeps them.

A reader finds the numbers that are in the objects themselves. Those to which a field
refers are found here: boxed numbers, truth values and enum constants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.analysis.types import subtypes_of
from ingest.arrays.spans import rows_in
from ingest.errors import DumpError
from ingest.heap.values import NO_VALUE, FieldValues, ValueKind
from ingest.runtimes import named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.heap.graph import HeapGraph
    from ingest.heap.read_options import ReadOptions

    Longs = NDArray[np.int64]

_MOST_FIELDS = 1000
"""The most different names; each becomes, for good, a name that the graph knows."""


def with_field_values(graph: HeapGraph, options: ReadOptions) -> HeapGraph:
    """A heap with the numbers, truth values and enum constants in fields.

    Those of boxed numbers and of constants are objects to which the fields refer.

    Args:
        graph: The heap; a reader may have found numbers in its fields themselves.
        options: The types of the objects.

    Raises:
        DumpError: the dump is redacted, or there are too many different fields.
    """
    if graph.is_redacted:
        raise DumpError(
            f"values were removed from {graph.format_name} dump; leave out --values"
        )
    known = [i for i, name in enumerate(graph.type_names) if options.keeps_values(name)]
    rows = np.flatnonzero(np.isin(graph.type_index, known))
    given = graph.field_values
    names = {} if given is None else {name: i for i, name in enumerate(given.names)}
    texts = {} if given is None else {text: i for i, text in enumerate(given.texts)}
    columns: list[tuple[NDArray[Any], ...]] = []
    if given is not None:
        columns.append((given.object_index, given.field, given.kind, given.bits))
    references = _named_references(graph, rows)
    for at, kind, bits in (
        _numbers(graph, references),
        _constants(graph, references, texts),
    ):
        assert graph.ref_field is not None or not len(at)
        used, of = np.unique(
            [] if graph.ref_field is None else graph.ref_field[at], return_inverse=True
        )
        row_of = [
            names.setdefault(graph.field_names[int(one)], len(names)) for one in used
        ]
        field = np.array(row_of, np.int32)[of]
        columns.append((graph.sources(at), field, kind, bits))
    if len(names) > _MOST_FIELDS:
        raise DumpError(
            f"the types that --values names have {len(names):,} different fields with "
            f"values, and at most {_MOST_FIELDS:,} are kept; name fewer types"
        )
    index, field, kind, bits = map(np.concatenate, zip(*columns, strict=True))
    # What was found first hides what else has its name.
    _, first = np.unique(index.astype(np.int64) << 32 | field, return_index=True)
    first = first[np.argsort(index[first], kind="stable")]
    first = first[kind[first] != NO_VALUE]
    return replace(
        graph,
        field_values=FieldValues(
            index[first].astype(np.int32), field[first].astype(np.int32),
            kind[first].astype(np.uint8), bits[first].astype(np.int64),
            tuple(names), tuple(texts),
        ),
    )  # fmt: skip


def _named_references(graph: HeapGraph, rows: Longs) -> Longs:
    """References of some objects through fields with a name of the program."""
    if graph.ref_field is None:
        return np.empty(0, np.int64)
    first = graph.ref_start[rows].astype(np.int64)
    at = rows_in(first, graph.ref_start[rows + 1] - first)
    hidden = [name.startswith("<") for name in graph.field_names]
    fields = graph.ref_field[at]
    named_ = fields >= 0
    named_[named_] = ~np.array(hidden, np.bool_)[fields[named_]]
    return at[named_]


def _numbers(graph: HeapGraph, references: Longs) -> tuple[Longs, Longs, Longs]:
    """References to numbers and truth values: which, the kinds, and the bits."""
    if graph.values is None:
        none = np.empty(0, np.int64)
        return none, none, none
    which, kind, bits = graph.values.numbers(graph.ref_target[references])
    return references[which], kind.astype(np.int64), bits


def _constants(
    graph: HeapGraph, references: Longs, texts: dict[str, int]
) -> tuple[Longs, Longs, Longs]:
    """References to enum constants: which, the kinds, and the rows of their names.

    Args:
        graph: The heap.
        references: Those to look at.
        texts: Rows by name; gets the new ones.
    """
    runtime = named(graph.runtime)
    none = np.empty(0, np.int64)
    if not runtime.enums or graph.values is None or graph.type_object is None:
        return none, none, none
    of_enums = subtypes_of(graph, runtime.enums)
    of_classes = graph.type_index[graph.type_object]
    is_enum = np.isin(of_classes, of_enums) & (graph.type_object >= 0)
    is_enum[of_enums] = True
    kinds = np.flatnonzero(is_enum)
    references = references[
        np.isin(graph.type_index[graph.ref_target[references]], kinds)
    ]
    constants, of = np.unique(graph.ref_target[references], return_inverse=True)
    rows = np.full(len(constants), -1, np.int64)
    for i, constant in enumerate(constants.tolist()):
        for ref in range(graph.ref_start[constant], graph.ref_start[constant + 1]):
            if graph.field_name(ref) == runtime.enum_name:
                (text,) = graph.values.pick(graph.ref_target[ref : ref + 1])
                if text is not None:
                    rows[i] = texts.setdefault(text, len(texts))
    known = rows[of] >= 0
    found = references[known]
    return found, np.full(len(found), ValueKind.NAME), rows[of][known]
