"""Redaction: no value is left, and the structure is."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.graph import Domain, HeapGraph, Part
from ingest.heap.history import Allocations, History
from ingest.heap.redaction import Redaction
from ingest.heap.values import ExternalMemory
from ingest.tables.heap_tables import HeapTables
from ingest.tables.schema import TABLES
from tests.cypher.dart_heap import dart_heap

SECRET = "hunter2"
SHA = "00" * 32


def full(graph: HeapGraph) -> HeapGraph:
    """The heap with a secret wherever a text of the process can be."""
    assert graph.values is not None
    texts = [f"{SECRET}-{i % 2}" for i in range(len(graph.values.object_index))]
    content = "".join(texts).encode()
    size = len(texts[0])
    zero = np.zeros(1, np.int32)
    allocations = Allocations(
        heap=zero,
        address=graph.object_id[:1],
        site=zero,
        allocated_ms=np.ones(1, np.int64),
        sites=(("Acme.Billing.Run", "System.Main"),),
    )
    return replace(
        graph,
        producer=SECRET,
        values=replace(
            graph.values,
            kind=np.zeros(len(texts), np.uint8),
            start=np.arange(len(texts) + 1, dtype=np.int64) * size,
            content=np.frombuffer(content, np.uint8),
        ),
        owners=tuple(SECRET for _ in graph.owners),
        domains=tuple(Domain(SECRET) for _ in graph.domains),
        external=ExternalMemory(
            np.array([1], np.int32), np.array([9]), np.array([0], np.int32), (SECRET,)
        ),
        history=History((), allocations),
        part=Part(1, 5, SECRET),
        other_parts=(Part(2, 5, SECRET + "2"),),
    )


@pytest.mark.parametrize("salt", ["", "pepper"])
def test_no_value_is_in_any_table(salt: str) -> None:
    graph = full(dart_heap())
    assert SECRET in everything(graph)

    redacted = Redaction(salt=salt).applied(graph, SHA)

    assert SECRET not in everything(redacted)
    assert SECRET not in repr((redacted.part, redacted.other_parts))
    assert redacted.is_redacted


def everything(graph: HeapGraph) -> str:
    """All tables of a heap, and the properties of its Dump node, as one text."""
    tables = HeapTables(graph, analyse(graph))
    buffer = BytesIO()
    for table in TABLES:
        tables.part(table.name, 0, tables.rows(table.name)).write_ndjson(buffer)
    return buffer.getvalue().decode() + repr(tables.dump())


def test_the_structure_is_kept() -> None:
    graph = full(dart_heap())

    redacted = Redaction(types=("*",), salt="s").applied(graph, SHA)

    for name in (
        "object_id", "type_index", "shallow_bytes", "ref_start", "ref_target",
        "ref_field", "root_object", "root_kind", "length", "identity_hash",
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(redacted, name), getattr(graph, name))
    assert len(set(redacted.type_names)) == len(set(graph.type_names))
    assert len(set(redacted.field_names)) == len(set(graph.field_names))


def test_equal_texts_stay_equal_with_a_salt_only() -> None:
    graph = full(dart_heap())
    assert graph.values is not None

    hashed = Redaction(salt="pepper").applied(graph, SHA).values
    other = Redaction(salt="salt").applied(graph, SHA).values

    assert Redaction().applied(graph, SHA).values is None
    assert hashed is not None
    assert other is not None
    rows = graph.values.object_index
    texts = hashed.pick(rows)
    assert texts[0] == texts[2] != texts[1] == texts[3]
    assert texts[0] != other.pick(rows)[0]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("System.String", True),
        ("Acme.Billing.Invoice", False),
        ("Acme.Open.Thing", True),
        ("Acmeba.Thing", True),
        ("System.Collections.Generic.List`1[[System.String, mscorlib]]", True),
    ],
)
def test_types_are_hashed_by_pattern(name: str, kept: bool) -> None:
    redaction = Redaction(types=("Acme.*", "!Acme.Open.*"))

    (found,) = redaction.applied(with_types(name), SHA).type_names

    assert (found == name) is kept


def test_the_namespaces_of_hashed_types_are_still_a_tree() -> None:
    first, second = (
        Redaction(types=("Acme.*",))
        .applied(with_types("Acme.Billing.Invoice[]", "Acme.Billing.Line"), SHA)
        .type_names
    )

    assert first.rpartition(".")[0] == second.rpartition(".")[0]
    assert first.endswith("[]")
    assert "Billing" not in first


@pytest.mark.parametrize(
    "name",
    [
        "System.Action`1[[Acme.Level+<Load>d__3, Acme, Version=1.0.0.0]]",
        "Map<String, Acme.Level>",
        "Acme.Level+<>c__DisplayClass3_0",
    ],
)
def test_no_part_of_a_hashed_name_is_left(name: str) -> None:
    graph = with_types(name)

    (found,) = Redaction(types=("Acme.*",)).applied(graph, SHA).type_names

    assert not any(word in found for word in ("Acme", "Level", "Load", "Display"))
    assert ("System.Action`1[[" in name) == ("System.Action`1[[" in found)


def with_types(*names: str) -> HeapGraph:
    """A heap without objects that has these types."""
    graph = dart_heap()
    empty = np.empty(0, np.int32)
    return HeapGraph(
        format_name=graph.format_name,
        object_count=0,
        object_id=np.empty(0, np.uint64),
        type_index=empty,
        shallow_bytes=np.empty(0, np.int64),
        ref_start=np.zeros(1, np.int64),
        ref_target=empty,
        root_object=empty,
        root_kind=np.empty(0, np.uint8),
        root_flags=np.empty(0, np.uint8),
        root_type=empty,
        type_names=names,
        type_domain=np.zeros(len(names), np.int32),
        domains=(Domain("one"),),
    )


def test_a_redacted_dump_is_another_dump() -> None:
    plain, salted = Redaction(), Redaction(salt="s")

    assert len({SHA, plain.digest(SHA), salted.digest(SHA)}) == 3
    assert plain.digest(SHA) == Redaction().digest(SHA)
