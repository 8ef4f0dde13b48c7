"""The headers of the library match its queries, and the parser checks them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ingest.database.needs import NEEDS
from ingest.errors import BadParameter, QueryError, UnknownQuery
from ingest.queries.library import (
    DUMP,
    GROUPS,
    Query,
    find,
    library,
    library_files,
    own_query,
    parse,
)
from tests.cypher.lint import Text

COLUMN_TYPES = {"STRING", "INTEGER", "FLOAT", "BOOLEAN", "ANY"} | {
    "LIST<STRING>",
    "LIST<INTEGER>",
}
WANTED = {
    "accumulation-points",
    "async-state-machines",
    "big-drops",
    "containers",
    "cycles",
    "delegate-only",
    "dependent-handles",
    "domains",
    "dominated-by",
    "dominated-types",
    "dominator-chain",
    "dominator-treemap",
    "event-handlers",
    "finalizable-unreachable",
    "finalizer-queue",
    "free-space",
    "gc-handles",
    "hubs",
    "k-shortest-root-paths",
    "leak-suspects",
    "missing-references",
    "namespace-histogram",
    "owners-of-type",
    "path-between",
    "pinned-fragmentation",
    "pinned-objects",
    "retained-objects",
    "retained-types",
    "root-path-tree",
    "root-paths-of-type",
    "roots-by-kind",
    "shared-by",
    "shortest-root-path",
    "sole-references",
    "single-type-chains",
    "static-roots",
    "string-duplicates",
    "thread-statics",
    "timers",
    "type-histogram",
    "type-references",
    "type-tree",
    "unreachable-types",
    "weakly-held",
}

GOOD = """// name: good
// title: One
// group: Types
// needs: fields, trace
// mode: read
// param: dump   INTEGER             number of the dump
// param: type   STRING              which
// param: share  FLOAT   = 0.5       how much
// param: all    BOOLEAN = true      whether
// param: skip   STRING  = "a b"     a text with a blank
// param: none   STRING  = null      nothing
// param: limit  INTEGER = 20        most rows
// column: name STRING what it is called
//
// How to read it.
//
// And more.
RETURN $dump + $limit + $type + $share + $all + $skip + $none AS name
"""


def paths() -> list[Path]:
    return library_files()


def of(path: Path) -> Query:
    return library()[path.stem.replace("_", "-")]


# ------------------------------------------------------------------ all files


def test_every_question_has_its_query() -> None:
    assert not WANTED - set(library())
    assert len(library()) == len(paths())


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_a_header_matches_its_query(path: Path) -> None:
    query = of(path)
    assert query.name == path.stem.replace("_", "-")
    assert query.title
    assert not query.title.endswith(".")
    assert len(query.notes) > 100
    assert query.group in GROUPS
    assert set(query.needs) <= NEEDS.keys()
    names = [parameter.name for parameter in query.parameters]
    assert (names[0] == "dump") is not query.is_of_fleet
    assert path.parent.name == ("fleet" if query.is_of_fleet else "reports")
    assert names[-1] == "limit"
    assert len(set(names)) == len(names)
    assert [column.name for column in query.columns] == Text(query.text).columns
    assert {column.type for column in query.columns} <= COLUMN_TYPES


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_an_answer_is_ordered_and_limited(path: Path) -> None:
    *_, before, last = of(path).text.splitlines()
    assert before.startswith("ORDER BY ")
    assert last == "LIMIT $limit"


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_a_query_keeps_to_the_schema(path: Path) -> None:
    assert Text(of(path).text).faults() == []


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_notes_name_queries_that_exist(path: Path) -> None:
    words = set(re.findall(r"\b[a-z]+(?:-[a-z]+)+\b", of(path).notes))
    for word in words:
        close = any(set(word.split("-")) == set(name.split("-")) for name in library())
        assert word in library() or not close


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_a_file_is_tidy(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert not re.search(r"[ \t]$|\t", text, re.MULTILINE)
    assert all(len(line) <= 120 for line in text.splitlines())


# ------------------------------------------------------------------ the linter


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("MATCH (o:Objekt) RETURN o", "no label Objekt"),
        ("MATCH (o:Object)-[:REFERS]->() RETURN o", "no relationship type REFERS"),
        ("MATCH (o:Object) RETURN o.size AS size", "o has no size"),
        ("MATCH (o:Object) RETURN o.number AS n", "o has no number"),
        ("MATCH (o:Object {nr: 1}) RETURN o", "['Object'] has no nr"),
        ("MATCH (a)-[:REFERENCES*]->(b) RETURN a", "no upper bound: *"),
        ("MATCH (a)-[:REFERENCES*1..]->(b) RETURN a", "no upper bound: *1.."),
        ("MATCH (a) (()-[:REFERENCES]->()){1,} (b) RETURN a", "no upper bound: {1,}"),
        ("MATCH (a) (()-[:REFERENCES]->())+ (b) RETURN a", "no upper bound: )+"),
        ("MATCH (a)-[:REFERENCES]->+(b) RETURN a", "no upper bound: ->+"),
        ("MATCH (o:Object) SET o.dump = 1", "write clause SET"),
    ],
)
def test_the_linter_sees(text: str, fault: str) -> None:
    assert fault in Text(text).faults()


def test_the_linter_lets_pass() -> None:
    text = """
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)-[:REFERENCES*1..9]->(o:Object)
WITH collect({type: o, bytes: r.kind + ':Nothing'}) AS maps // SET
UNWIND maps AS map
RETURN map.bytes AS bytes, [m IN maps | m.type] AS types
ORDER BY bytes
"""
    assert Text(text).faults() == []
    assert Text(text).columns == ["bytes", "types"]


# ------------------------------------------------------------------ the parser


def test_a_good_header() -> None:
    query = parse(GOOD, "good.cypher")
    assert query.notes == "How to read it.\n\nAnd more."
    assert (query.group, query.needs) == ("Types", ("fields", "trace"))
    assert query.text.startswith("RETURN")
    assert query.bind({"type": "x"}, 7) == {
        "dump": 7,
        "type": "x",
        "share": 0.5,
        "all": True,
        "skip": "a b",
        "none": None,
        "limit": 20,
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("// name: good\n", "", "the header needs one 'name:' line"),
        ("// title: One", "// title: One\n// title: Two", "needs one 'title:' line"),
        ("group: Types", "group: Others", "line 3: group must be one of: Overview, "),
        ("// group: Types\n", "", "the header needs one 'group:' line"),
        ("mode: read", "mode: write", "line 5: mode must be 'read'"),
        ("INTEGER = 20 ", "NUMBER = 20 ", "line 12: not 'name TYPE [= default]"),
        ("INTEGER = 20 ", "INTEGER = x ", "line 12: parameter limit: 'x' is not of"),
        ("name STRING what it is called", "name", "line 13: not 'name TYPE meaning'"),
        ("+ $none", "", "declared and used parameters differ: none"),
        ("+ $none", "+ $none + $more", "declared and used parameters differ: more"),
    ],
)
def test_a_bad_header_is_refused(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(QueryError, match=re.escape(message)) as caught:
        parse(GOOD.replace(old, new), "good.cypher")
    assert str(caught.value).startswith("good.cypher: ")


@pytest.mark.parametrize("text", ["", "RETURN 1\n", "// just a comment\nRETURN 1\n"])
def test_without_a_header_it_is_no_query(text: str) -> None:
    with pytest.raises(QueryError, match="the header needs one"):
        parse(text, "x.cypher")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "good needs parameter type (which): --param type=…"),
        (
            {"type": "x", "tpye": "y"},
            "good has no parameter tpye; it takes: type, share, all, skip, none, limit",
        ),
        ({"type": "x", "limit": "many"}, "limit: 'many' is not of type INTEGER"),
        ({"type": "x", "limit": "1.5"}, "limit: '1.5' is not of type INTEGER"),
        ({"type": "x", "limit": str(2**63)}, "is not of type INTEGER"),
        ({"type": "x", "share": "half"}, "share: 'half' is not of type FLOAT"),
        ({"type": "x", "all": "yes"}, "all: 'yes' is not of type BOOLEAN"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(BadParameter, match=re.escape(message)):
        parse(GOOD, "good.cypher").bind(given, 1)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("limit", "0x10", 16),
        ("limit", "-0X10", -16),
        ("limit", "010", 10),
        ("limit", "1_000", 1000),
        ("share", "1", 1.0),
        ("share", "1e-3", 0.001),
        ("all", "FALSE", False),
        ("skip", "", ""),
        ("skip", "7", "7"),
        ("dump", "3", 3),
    ],
)
def test_values_are_of_the_header_s_type(name: str, text: str, value: object) -> None:
    bound = parse(GOOD, "good.cypher").bind({"type": "x", name: text}, 1)[name]
    assert bound == value
    assert type(bound) is type(value)


def test_a_query_can_be_pasted_with_its_values() -> None:
    text = own_query("RETURN $name", "own", {"name": 'a "b"\n'}).with_values(
        {"name": 'a "b"\n', "many": 2, "all": True, "none": None}
    )
    assert text.splitlines() == [
        r':param name => "a \"b\"\n";',
        ":param many => 2;",
        ":param all => true;",
        ":param none => null;",
        "RETURN $name",
    ]


def test_a_query_has_its_values_in_place_as_one_statement() -> None:
    text = (
        "MATCH (n {a: $name}) // of $name\n"
        "WHERE n.b = '$name' AND n.`$name` = \"$name\" /* $name */\n"
        "RETURN $names, $many, $all, $none, $share LIMIT $limit"
    )
    values: dict[str, str | int | float | bool | None] = {
        "name": 'a "b"\n\\u0022 $many',
        "many": -2,
        "all": True,
        "none": None,
        "share": 1e22,
        "limit": 5,
    }
    query = own_query(text, "own", dict.fromkeys([*values, "names"], ""))
    assert query.with_literals(values).splitlines() == [
        r'MATCH (n {a: "a \"b\"\n\\u0022 $many"}) // of $name',
        "WHERE n.b = '$name' AND n.`$name` = \"$name\" /* $name */",
        "RETURN $names, -2, true, null, 1e22 LIMIT 5",
    ]


@pytest.mark.parametrize("query", library().values(), ids=lambda query: query.name)
def test_every_query_can_stand_without_parameters(query: Query) -> None:
    text = query.with_literals(query.defaults(3))
    assert own_query(text, query.name, {}).text == text
    assert "null" in text or all(not p.required for p in query.parameters[1:])


@pytest.mark.parametrize("query", library().values(), ids=lambda query: query.name)
def test_every_query_that_is_shown_asks_the_same(query: Query) -> None:
    needed = [p.name for p in query.parameters if p.required and p.name != DUMP]
    values = query.bind({name: "A'\"\\b; x => y" for name in needed}, 3)
    shown = own_query(query.with_values(values), "shown.cypher", {})

    assert shown.text == query.text
    assert shown.preset_dump == (None if query.is_of_fleet else 3)
    assert shown.bind({}, 3) == {"dump": 3} | values


# ------------------------------------------------------------------ own queries


def test_an_own_query_types_its_values_by_their_looks() -> None:
    given = {"a": "-12", "b": "1.5", "c": "true", "d": "0x1c15d2", "e": "007"}
    query = own_query("RETURN $a, $b, $c, $d, $e, $dump", "mine.cypher", given)
    assert query.bind(given, 4) == {
        "dump": 4,
        "a": -12,
        "b": 1.5,
        "c": True,
        "d": "0x1c15d2",
        "e": 7,
    }
    assert query.columns == ()


def test_an_own_query_needs_all_it_uses() -> None:
    with pytest.raises(BadParameter, match=r"mine uses \$b: give it with --param b=…"):
        own_query("RETURN $a, $b, $dump", "mine", {"a": "1"})


# ------------------------------------------------------------------ finding


def test_a_query_is_found_by_name() -> None:
    assert find("leak-suspects") is library()["leak-suspects"]


def test_similar_names_are_suggested() -> None:
    with pytest.raises(UnknownQuery, match=r"did you mean .*leak-suspects"):
        find("leak-suspect")


def test_without_similar_names_the_list_is_mentioned() -> None:
    with pytest.raises(UnknownQuery, match="'xyz'; to list all: ingest queries"):
        find("xyz")


@pytest.mark.parametrize(
    ("type_name", "is_delegate"),
    [
        ("System.EventHandler", True),
        ("System.EventHandler`1[App.Click[]]", True),
        ("System.Action`1[[App.Event, App]]", True),
        ("System.Action", True),
        ("App.DoneCallback", True),
        ("dart:core::_Closure", True),
        ("System.Delegate[]", False),
        ("System.EventHandler[,]", False),
        ("System.Collections.Generic.List`1[System.EventHandler]", False),
        ("List<System.Action>", False),
        ("System.ComponentModel.EventHandlerList", False),
        ("System.ActionBlock", False),
    ],
)
def test_a_list_of_delegates_is_no_delegate(type_name: str, is_delegate: bool) -> None:
    pattern = find("delegate-only").defaults(1)["pattern"]

    assert bool(re.fullmatch(str(pattern), type_name)) is is_delegate
