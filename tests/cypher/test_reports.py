"""Every query of the library, on a real server, against the twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from ingest.database.ask import ask
from ingest.queries.library import library
from tests.cypher import (
    answers,
    dart_answers,
    dotnet_answers,
    more_answers,
    place_answers,
    trace_answers,
)
from tests.cypher.conftest import drop_heap, load_heap, traced_heap
from tests.cypher.dart_heap import CACHE, CLOSURES, LIST, NODES, TEXTS
from tests.cypher.heap import NAMES, main_heap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cypher.conftest import Loaded

pytestmark = pytest.mark.server

Given = dict[str, str]

EVERYTHING: Given = {"limit": "100000"}
SESSION, STRING, ITEM = "App.Session", "System.String", "App.Model.Item"

DART = tuple(map(hex, (CACHE, LIST, NODES[0], NODES[2], TEXTS[1], CLOSURES[1])))

CACHE_ = hex(CACHE)
TRACED = traced_heap()

CASES: dict[str, list[Given]] = {
    "async-state-machines": [{}, {"limit": "1"}],
    "dependent-handles": [{}, {"limit": "1"}],
    "event-handlers": [{}, {"limit": "2"}, {"pattern": "App[.].*|System.EventHandler"}],
    "finalizable-unreachable": [{}, {"limit": "1"}],
    "free-space": [{}, {"limit": "1"}],
    "pinned-fragmentation": [{}, {"limit": "1"}],
    "string-duplicates": [{}, {"min_count": "3"}, {"type": "App.UI.Extra"}],
    "thread-statics": [{}, {"limit": "1"}],
    "timers": [{}, {"limit": "1"}, {"pattern": ".*Timer", "skip": "-"}],
    "accumulation-points": [
        {},
        {"share": "0.0", "limit": "1000"},
        {"share": "0.2", "pile_share": "0.1"},
    ],
    "by-field": [
        {"field": f} for f in ("entries", "next", "target_", "context_", "a b")
    ]
    + [{"field": "next", "type": "package:app/list.dart::Node"}],
    "by-library": [{}, {"prefix": "dart:"}, {"prefix": "App"}, {"limit": "2"}],
    "closures": [{}, {"limit": "1"}],
    "external-bytes": [{}, {"limit": "1"}],
    "isolates": [{}, {"limit": "1"}],
    "survivors-of-dump": [{}, {"limit": "2"}, {"earlier": "none of that name"}],
    "born-between": [{}, {"limit": "2"}, {"earlier": "none of that name"}],
    "died-between": [{}, {"limit": "2"}, {"earlier": "none of that name"}],
    "promoted-to-gen2": [{}, {"limit": "2"}],
    "oldest-objects": [{}, {"born": "false"}, EVERYTHING],
    "allocation-sites": [{}, {"limit": "1"}],
    "gc-timeline": [{}, {"limit": "1"}],
    "segments": [{}, {"limit": "1"}],
    "generation-histogram": [{}, {"limit": "2"}],
    "large-objects": [{}, {"limit": "1"}],
    "across-generations": [
        {},
        {"holders": "2", "held": "0"},
        {"holders": "1", "held": "1"},
    ],
    "walk": [{}, {"segment": "1"}, {"start": "0x110", "limit": "3"}, {"segment": "9"}],
    "objsize": [
        {"address": a} for a in ("0x100", "0x710", "0x140", "0x800", "0x1", CACHE_)
    ],
    "strings": [{}, {"min_count": "1", "limit": "100"}, {"min_count": "3"}],
    "big-drops": [{}, {"min_drop_bytes": "0", "limit": "1000"}],
    "containers": [{}, EVERYTHING],
    "cycles": [
        {},
        {"candidates": "1000"},
        {"type": "App.Pair", "candidates": "3"},
        {"type": "App.Pair"},
        {"type": SESSION},
    ],
    "delegate-only": [{}, {"pattern": "App[.].*"}, {"pattern": "none"}],
    "domains": [{}],
    "dominated-by": [
        {"address": a} for a in ("0x100", "0x101", "0x200", "0x700", "0x1")
    ],
    "dominator-chain": [
        {"address": a}
        for a in ("0x100", "0x110", "0x112", "0x113", "0x120", "0x216", "0x306")
    ]
    + [{"address": "0x803"}, {"address": "0x306", "limit": "2"}],
    "dominator-treemap": [{}, {"limit": "7"}],
    "dominator-types": [{}, EVERYTHING],
    "dump": [{}],
    "finalizer-queue": [{}, {"limit": "1"}],
    "gc-handles": [{}, {"limit": "1"}],
    "hubs": [{}, EVERYTHING],
    "k-shortest-root-paths": [{"address": a} for a in DART]
    + [
        {"address": a, "limit": "1000"}
        for a in ("0x100", "0x112", "0x140", "0x141", "0x201", "0x720", "0x733")
    ]
    + [{"address": "0x141", "limit": "1"}, {"address": "0x700"}, {"address": "0x801"}]
    + [{"address": a} for a in ("0x306", "0x216", "0x710", "0x731", "0x910", "0x113")],
    "leak-suspects": [
        {},
        {"share": "0.01"},
        {"share": "0.01", "pile_share": "0.95"},
        {"share": "0.9"},
    ],
    "missing-references": [{}, {"limit": "1"}],
    "namespace-histogram": [{}, {"limit": "2"}],
    "object": [{"address": a} for a in DART]
    + [
        {"address": a}
        for a in ("0x100", "0x110", "0x140", "0x702", "0x800", "0x113", "0xa00", "0x1")
    ]
    + [{"address": hex(seen.at)} for seen in TRACED.dumps[-1].objects[:8]],
    "objects-of-type": [{"type": name} for name in NAMES.values()]
    + [{"type": "-"}, {"type": "dart:core::_OneByteString"}],
    "owners-of-type": [
        {"type": name, "skip": skip}
        for name in (SESSION, STRING, ITEM, "App.Long", "System.Byte[]")
        for skip in ("-", "(?i).*dictionary.*|Long|.*\\[]", ".*")
    ]
    + [{"type": SESSION}],
    "path-between": [
        {"from": DART[0], "to": DART[3]},
        {"from": DART[0], "to": DART[4]},
        {"from": "0x100", "to": "0x140"},
        {"from": "0x100", "to": "0x113"},
        {"from": "0x300", "to": "0x306"},
        {"from": "0x110", "to": "0x112"},
        {"from": "0x712", "to": "0x711"},
        {"from": "0x140", "to": "0x100"},
        {"from": "0x100", "to": "0x100"},
    ],
    "pinned-objects": [{}, {"limit": "1"}],
    "references-of": [{"address": a} for a in DART]
    + [{"address": a} for a in ("0x100", "0x110", "0x200", "0x212", "0x702", "0x703")],
    "referrers-of": [{"address": a} for a in DART]
    + [
        {"address": a}
        for a in ("0x110", "0x140", "0x201", "0x602", "0x702", "0x800", "0x112")
    ],
    "retained-objects": [
        {},
        {"min_bytes": "1000", "limit": "5"},
        {"min_bytes": "-1", "limit": "1000"},
    ],
    "retained-types": [{}, {"min_bytes": "1000"}, EVERYTHING],
    "root-paths-of-type": [
        {"type": name}
        for name in (SESSION, ITEM, "App.Node", "App.UI.Window", "App.Tree", "Listener")
    ]
    + [{"type": ITEM, "instances": "2"}],
    "roots-by-kind": [{}, {"limit": "2"}],
    "root-path-tree": [{}, {"limit": "5"}],
    "shared-by": [
        {},
        {"min_bytes": "0", "limit": "1000"},
        {"min_bytes": "60", "limit": "2"},
    ],
    "shortest-root-path": [{"address": a} for a in DART]
    + [
        {"address": a}
        for a in ("0x100", "0x110", "0x120", "0x140", "0x216", "0x306", "0x800")
    ]
    + [{"address": a} for a in ("0x141", "0x201", "0x733", "0x910", "0x113")]
    + [{"address": a} for a in ("0x600", "0x803", "0x801", "0x910a")],
    "single-type-chains": [
        {},
        {"min_bytes": "0"},
        {"min_bytes": "0", "min_length": "2", "limit": "100"},
    ],
    "static-roots": [{}, {"limit": "2"}],
    "type-histogram": [{}, EVERYTHING],
    "type-references": [{}, EVERYTHING, {"type": SESSION}, {"type": "-"}],
    "type-tree": [{}, {"limit": "5"}],
    "unreachable-types": [{}, {"limit": "2"}],
    "warnings": [{}],
    "weakly-held": [{}, {"limit": "2"}],
}

HEAPS = ("main", "domains", "dart", "dotnet", "trace")


class Case(NamedTuple):
    query: str
    heap: str
    given: Given

    def __str__(self) -> str:
        values = ",".join(f"{name}={value}" for name, value in self.given.items())
        return f"{self.query}-{self.heap}-{values}"


ALL = [
    Case(query, heap, given)
    for query in library()
    for given in CASES.get(query, [])
    for heap in HEAPS
]
FITS: dict[str, Callable[[object], bool]] = {
    "STRING": lambda value: isinstance(value, str),
    "INTEGER": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "FLOAT": lambda value: isinstance(value, float),
    "BOOLEAN": lambda value: isinstance(value, bool),
    "LIST<STRING>": lambda value: (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    ),
    "LIST<INTEGER>": lambda value: (
        isinstance(value, list) and all(isinstance(item, int) for item in value)
    ),
}


def rows_of(loaded: Loaded, query: str, given: Given) -> list[tuple[object, ...]]:
    """The server's answer, with columns and types held against the header."""
    answer = ask(loaded.database, library()[query], given, loaded.number)
    columns = library()[query].columns
    assert list(answer.columns) == [column.name for column in columns]
    for row in answer.rows:
        for column, value in zip(columns, row, strict=True):
            fits = value is None or FITS[column.type](value)
            assert fits, f"{column.name}: {value!r} is no {column.type}"
    return list(answer.rows)


def twin_rows(loaded: Loaded, query: str, given: Given) -> list[tuple[object, ...]]:
    values = library()[query].bind(given, loaded.number)
    del values["dump"]
    name = query.replace("-", "_")
    rooms = (
        answers,
        more_answers,
        dart_answers,
        place_answers,
        dotnet_answers,
        trace_answers,
    )
    twin = next(getattr(room, name) for room in rooms if hasattr(room, name))
    return list(twin(loaded.heap, **values))


@pytest.mark.parametrize("query", library())
def test_each_query_has_a_case(query: str) -> None:
    assert query in CASES


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_query_answers_what_the_twin_does(
    case: Case, loaded_heap: dict[str, Loaded]
) -> None:
    loaded = loaded_heap[case.heap]
    expected = twin_rows(loaded, case.query, case.given)
    assert rows_of(loaded, case.query, case.given) == expected


@pytest.mark.parametrize("query", library())
def test_some_case_has_an_answer(query: str, loaded_heap: dict[str, Loaded]) -> None:
    assert any(
        twin_rows(loaded_heap[case.heap], query, case.given)
        for case in ALL
        if case.query == query
    )


@pytest.fixture(scope="module")
def beside_a_copy(loaded_heap: dict[str, Loaded]) -> Iterator[Loaded]:
    """The same heap once more, loaded after the others."""
    copy = load_heap(loaded_heap["main"].database, main_heap(), "copy")
    yield copy
    drop_heap(copy)


@pytest.mark.parametrize("query", library())
def test_another_dump_changes_no_answer(
    query: str, loaded_heap: dict[str, Loaded], beside_a_copy: Loaded
) -> None:
    """Not even one with the same addresses and types."""
    for given in CASES[query]:
        main, copy = loaded_heap["main"], beside_a_copy
        expected = twin_rows(main, query, given)
        assert rows_of(main, query, given) == expected
        if query != "dump":
            assert rows_of(copy, query, given) == expected
