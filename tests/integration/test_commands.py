"""The commands on a real server, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import pytest
from neo4j.graph import Path as GraphPath

from ingest.browser.style import grass
from ingest.queries.library import own_query
from ingest.readers.gclog.example import example_gclog
from ingest.reports.render import OutputFormat
from tests.dumps.hprof import program
from tests.readme import WHY_LINES, part, shown
from tests.unit.browser.test_guide import Read, cleaned
from tests.unit.readers.test_gclog import EXCERPT

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.database.connection import Database
    from ingest.server.target import Target
    from tests.conftest import Ran

pytestmark = pytest.mark.server


@pytest.fixture
def command(
    empty_database: Database, on_server: Callable[..., Ran]
) -> Callable[..., Ran]:
    """Run the command line against an empty database."""
    assert empty_database.read("MATCH (n) RETURN count(n)", {})[1] == [(0,)]
    return on_server


@pytest.fixture
def loaded(on_server: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """Run it with the example and the papers' excerpt loaded, and nothing else.

    They are loaded when a test before has left something else.
    """
    _, out, _ = on_server("list", "--json")
    if [dump["name"] for dump in json.loads(out)] == ["example", "excerpt"]:
        return on_server
    for dump in json.loads(out):
        assert on_server("drop", dump["name"])[0] == 0
    (tmp_path / "example.gclog").write_text(example_gclog(), encoding="utf-8")
    (tmp_path / "excerpt.gclog").write_text(EXCERPT, encoding="utf-8")
    code, out, _ = on_server(
        "load", str(tmp_path / "excerpt.gclog"), str(tmp_path / "example.gclog")
    )
    assert code == 0
    assert "example: 3,784 objects, 7,269 references" in out
    return on_server


def test_load_says_what_it_did_and_what_it_left(
    command: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "d.gclog"
    path.write_text(EXCERPT, encoding="utf-8")

    code, out, err = command("load", str(path), "--json")
    (receipt,) = json.loads(out)
    assert (code, receipt["loaded"], receipt["object_count"]) == (0, True, 6)
    code, out, err = command("load", str(path))
    assert code == 0
    assert "is already loaded as d" in out
    assert "warning: undeclared type: 3" in err
    code, out, err = command("load", str(path), "--name", "e", "--json")
    (receipt,) = json.loads(out)
    assert (receipt["name"], receipt["renamed_from"]) == ("e", "d")
    assert [dump["name"] for dump in json.loads(command("list", "--json")[1])] == ["e"]
    code, out, err = command("load", str(path), "--name", "f", "--replace")
    assert "it replaces e, the same dump" in out
    # The first answer needs no graph.
    assert out.index("Leak suspects") < out.index("it replaces e")
    code, out, err = command("load", str(path), "--replace")
    assert "warning: undeclared type: 3" in err


@pytest.mark.slow
def test_list_and_drop(loaded: Callable[..., Ran]) -> None:
    _, out, _ = loaded("list", "--json")
    assert [dump["name"] for dump in json.loads(out)] == ["example", "excerpt"]
    _, out, _ = loaded("list")
    assert max(map(len, out.splitlines())) <= 80
    assert loaded("drop", "nothing")[0] == 9
    assert loaded("drop", "example")[1] == "dropped example\n"
    _, out, _ = loaded("list", "--json")
    assert [dump["name"] for dump in json.loads(out)] == ["excerpt"]


def test_an_empty_database_is_said(command: Callable[..., Ran]) -> None:
    assert "no dump is loaded" in command("list")[1]
    code, _, err = command("report")
    assert (code, "no dump is loaded" in err) == (9, True)


@pytest.mark.slow
def test_why_an_object_of_the_papers_excerpt(loaded: Callable[..., Ran]) -> None:
    code, out, _ = loaded("why", "0x22c823", "--dump", "excerpt")

    assert code == 0
    assert "0x22c823  <type 0x1b>" in out
    assert "0  runtime root\n     1  <type 0x1b> 0x22c823" in out
    code, out, _ = loaded("why", "22C81E", "--dump", "excerpt", "--json")
    paths = json.loads(out)["answers"]["k-shortest-root-paths"]
    assert [path["root"] for path in paths] == ["runtime root"]
    assert "No root reaches it" in loaded("why", "1ce056", "--dump", "excerpt")[1]
    assert "not in the dump" in loaded("why", "0x22c81b", "--dump", "excerpt")[1]


def test_why_names_the_static_event(loaded: Callable[..., Ran]) -> None:
    code, out, _ = loaded("why", "StarMiner.LevelScreen")

    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "24 instances" in out
    assert "static root in GameEvents" in out
    _, short, _ = loaded("why", "levelscreen")
    assert short == out


def test_the_readme_shows_what_the_commands_say(loaded: Callable[..., Ran]) -> None:
    _, out, _ = loaded("why", "0x1c1773")
    expected = shown("ingest why 0x1c1773", out, WHY_LINES)
    assert part("why") == expected, "make readme ARGS=--server"


def test_why_of_nothing(loaded: Callable[..., Ran]) -> None:
    assert loaded("why", "NoSuchType")[0] == 10
    assert loaded("why", "0xdead")[0] == 10
    # There is only one type that it can be.
    code, out, err = loaded("why", "LevelScren")
    assert (code, "showing StarMiner.LevelScreen" in out + err) == (0, True)


def test_report(loaded: Callable[..., Ran], tmp_path: Path) -> None:
    code, out, _ = loaded("report")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("dump example, the newest of 2 loaded\n\nLeak report")
    assert "  1. 24 LevelScreen (863 KiB, 72% of the reachable heap) are held" in out
    for query in ("dump", "leak-suspects", "type-histogram", "unreachable-types"):
        assert f"(query: {query})" in out
    file = tmp_path / "report.md"
    assert loaded("report", "--format", "markdown", "--output", str(file))[0] == 0
    assert "## Leak suspects" in file.read_text(encoding="utf-8")
    assert loaded("report", "-o", str(file))[0] == 1
    _, out, _ = loaded("report", "--json")
    assert json.loads(out)["dump"][0]["object_count"] == 3784


def test_own_cypher_finds_the_dump_and_may_not_write(
    loaded: Callable[..., Ran], tmp_path: Path
) -> None:
    file = tmp_path / "own.cypher"
    file.write_text(
        "MATCH (o:Object {dump: $dump}) WHERE o.shallow_bytes > $least "
        "RETURN count(o) AS many",
        encoding="utf-8",
    )
    code, out, _ = loaded("query", str(file), "--param", "least=0", "-f", "jsonl")
    assert (code, json.loads(out)) == (0, {"many": 3784})
    code, out, _ = loaded(
        "query", str(file), "--param", "least=0x", "--dump", "excerpt"
    )
    assert code == 0
    file.write_text("MATCH (n) DETACH DELETE n", encoding="utf-8")
    code, _, err = loaded("query", str(file))
    assert code in (5, 6)
    assert err.count("\n") == 1
    assert json.loads(loaded("list", "--json")[1])
    for form in ("table", "jsonl"):
        file.write_text("CALL db.clearQueryCaches()", encoding="utf-8")
        code, _, err = loaded("query", str(file), "-f", form)
        assert code == 5
        assert "calls db.clearQueryCaches, which may do more than read" in err
    file.write_text("MATCH (n RETURN n", encoding="utf-8")
    assert loaded("query", str(file))[0] == 5


def test_a_path_of_own_cypher_is_drawn(
    loaded: Callable[..., Ran], tmp_path: Path
) -> None:
    """As `why` draws it, also from its end."""
    file = tmp_path / "path.cypher"
    pattern = "(:Dump {number: $dump})-[:HAS_ROOT|REFERENCES*..9]->(o:Object)"
    file.write_text(
        f"MATCH p = shortestPath({pattern}) WHERE o.address = '0x1c1773' RETURN p",
        encoding="utf-8",
    )
    why = loaded("why", "0x1c1773")[1]
    code, out, _ = loaded("query", str(file))

    assert code == 0
    drawn = out.partition("\n\n")[2]
    assert drawn.startswith("     0  static root in GameEvents\n     1  ")
    assert drawn in why
    backwards = (
        "(o:Object {address: '0x1c1773'})<-[:REFERENCES]-(:Object {dump: $dump})"
    )
    file.write_text(f"MATCH p = {backwards} RETURN p LIMIT 1", encoding="utf-8")
    assert "\n     1  <- " in loaded("query", str(file))[1]
    file.write_text("RETURN $other", encoding="utf-8")
    assert loaded("query", str(file))[0] == 5


@pytest.mark.parametrize("form", OutputFormat)
def test_every_output_form(loaded: Callable[..., Ran], form: OutputFormat) -> None:
    code, out, _ = loaded("query", "type-histogram", "--format", form)

    assert code == 0
    assert "System.Byte[]" in out.replace("\\", "")


def test_show_is_ready_to_paste(loaded: Callable[..., Ran]) -> None:
    code, out, _ = loaded(
        "query", "owners-of-type", "-p", "skip=A'\"\\b", "-p", "type=levelscreen",
        "--show",
    )  # fmt: skip

    assert code == 0
    assert ':param skip => "A\'\\"\\\\b";' in out
    assert ':param type => "StarMiner.LevelScreen";' in out
    assert out.count("\n:param") + out.startswith(":param") == 4


@pytest.mark.parametrize(
    "text",
    [
        "a' \"b\\",
        "'}) DETACH DELETE n //",
        '"}) DETACH DELETE n //',
        "\\u0022 + 1",
        "\\\\u0022",
        "\u2028\x00\x1b é 😀 $dump `x` /* */",
    ],
)
def test_values_in_place_mean_what_they_are(
    loaded: Callable[..., Ran], database: Database, text: str
) -> None:
    query = own_query("RETURN $text AS text, $dump AS dump", "own", {"text": ""})
    statement = query.with_literals({"text": text, "dump": 1})

    assert loaded("list")[0] == 0
    assert database.read(statement, {})[1] == [(text, 1)]


@pytest.mark.slow
def test_every_query_of_the_guide_answers(
    loaded: Callable[..., Ran], database: Database
) -> None:
    code, out, _ = loaded("browse", "--print", "guide", "--dump", "example")
    assert code == 0
    queries = Read(out).queries
    assert len(queries) == 11

    for text in queries:
        columns, rows = database.read(text, {})
        assert rows, text
        drawn = [isinstance(row[0], GraphPath) for row in rows]
        assert all(drawn) if columns[0] == "p" else not any(drawn)


@pytest.mark.slow
def test_the_guide_of_a_hostile_dump(
    command: Callable[..., Ran], empty_database: Database, tmp_path: Path
) -> None:
    names = ["<script>alert(1)</script>", "'}) DETACH DELETE n //", " onx='=1' one=2"]
    path = tmp_path / "<b>.gclog"
    types = "".join(f"t {n} {name}\n" for n, name in enumerate(names, start=1))
    path.write_text(
        f"a 2 x\n{types}o 1 1 10 2\no 2 2 10 3\no 3 3 900\nr 1 3 1\nc x\n",
        encoding="utf-8",
    )
    assert command("load", str(path))[0] == 0

    code, out, _ = command("browse", "--print", "guide")

    assert code == 0
    read = Read(out)
    assert {"script", "b"}.isdisjoint(read.tags)
    assert "<script>alert(1)</script>" in read.text
    assert cleaned(out) == out
    for text in read.queries:
        empty_database.read(text, {})


OPTIONS = (
    ("--fold", "none"), ("--layout", "8/4/12"), ("--own", "App.*"),
    ("--runtime", "jvm"), ("--strength", "mat"),
)  # fmt: skip
"""Each that changes what is stored."""


@pytest.mark.deep
def test_what_is_loaded_is_not_taken_for_what_other_options_make(
    command: Callable[..., Ran], tmp_path: Path
) -> None:
    """Both ways, for each option."""
    path = str(tmp_path / "d.hprof")
    Path(path).write_bytes(program().bytes())

    def assert_refused(*option: str) -> None:
        code, out, err = command("load", path, *option)
        assert (code, out) == (6, ""), option
        assert "to read it again, add --replace" in err

    assert command("load", path)[0] == 0
    for option in OPTIONS:
        assert_refused(*option)
    for option in OPTIONS:
        assert command("load", path, "--replace", *option)[0] == 0
        assert command("load", path, *option)[0] == 0
        assert_refused()


def test_irregularities_that_were_loaded_are_not_strict(
    command: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "d.gclog"
    path.write_text(EXCERPT, encoding="utf-8")
    assert command("load", str(path))[0] == 0
    code, _, err = command("load", str(path), "--strict")
    assert (code, "which --strict refuses" in err) == (6, True)


@pytest.mark.slow
def test_browser_of_a_server_of_ones_own(
    loaded: Callable[..., Ran], neo4j_target: Target
) -> None:
    host = urlsplit(neo4j_target.uri).hostname
    code, out, err = loaded("browse", "--query", "dump", "--dump", "example")
    assert code == 0, err
    assert out.startswith(f"Browser   http://{host}:7474/browser/?dbms=")
    assert f"http://{host}:7474 is where the Browser of {neo4j_target.uri} " in err
    assert "Password  the one you gave" in out

    code, out, err = loaded("browse", "--browser", "https://there/neo4j/", "--json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["browser"].startswith("https://there/neo4j/browser/?dbms=")
    assert "password" not in told


def test_the_guide_is_served_to_browser_until_ctrl_c(
    loaded: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From the printed address on, as Browser fetches it."""
    browser = "http://127.0.0.1:7474"
    fetched: list[tuple[str, str]] = []

    def fetch() -> None:
        captured = capsys.readouterr()
        assert "until Ctrl-C" in captured.err
        told = json.loads(captured.out)
        link = parse_qs(urlsplit(told["browser"]).query)
        assert link["cmd"] == ["guide"]
        assert link["arg"] == [told["guide"]]
        for url in (told["guide"], told["style"]):
            assert urlsplit(url).hostname == "localhost"
            request = Request(url, headers={"Origin": browser})
            with urlopen(request, timeout=10) as response:
                allowed = response.headers["Access-Control-Allow-Origin"]
                fetched.append((allowed, response.read().decode("utf-8")))
        assert told["style"] in fetched[0][1]

    assert loaded("list")[0] == 0
    monkeypatch.setattr("ingest.cli.browse._wait_for_ctrl_c", fetch)
    guide = ("browse", "--guide", "--dump", "example", "--json")
    code, _, _ = loaded(*guide, "--browser", f"{browser}/browser/")

    assert code == 0
    assert [allowed for allowed, _ in fetched] == [browser, browser]
    assert "The dump: example" in fetched[0][1]
    assert fetched[1][1] == grass()


def test_what_show_prints_can_be_given_back(
    loaded: Callable[..., Ran], tmp_path: Path
) -> None:
    file = tmp_path / "shown.cypher"
    _, shown_text, _ = loaded("query", "leak-suspects", "-p", "limit=1", "--show")
    file.write_text(shown_text, encoding="utf-8")

    code, out, _ = loaded("query", str(file), "--json")
    assert code == 0
    assert len(json.loads(out)["rows"]) == 1
    code, out, _ = loaded("query", str(file), "--json", "-p", "limit=2")
    assert len(json.loads(out)["rows"]) == 2


def test_a_shown_query_is_about_the_same_dump(
    loaded: Callable[..., Ran], tmp_path: Path
) -> None:
    file = tmp_path / "shown.cypher"
    shown = loaded("query", "dump", "--dump", "excerpt", "--show")[1]
    file.write_text(shown, encoding="utf-8")

    answer = json.loads(loaded("query", str(file), "--json")[1])
    assert answer["about"]["dump"] == answer["rows"][0]["name"] == "excerpt"
    assert answer["about"]["loaded_dumps"] == 2
    _, out, _ = loaded("query", str(file))
    said = "dump excerpt, one of 2 loaded, incomplete: it refers to 9 objects that it "
    assert out.startswith(said + "does not contain\n\n")
    answer = json.loads(loaded("query", str(file), "--dump", "example", "--json")[1])
    assert answer["rows"][0]["name"] == "example"
    file.write_text(":param dump => 999;\nRETURN $dump\n", encoding="utf-8")
    code, _, err = loaded("query", str(file))
    assert (code, "dump 999" in err) == (9, True)


def test_the_notices_of_the_server_are_passed_on(
    loaded: Callable[..., Ran], tmp_path: Path
) -> None:
    file = tmp_path / "own.cypher"
    file.write_text("MATCH (n:Objekt) RETURN count(n) AS many", encoding="utf-8")

    code, out, err = loaded("query", str(file))

    assert (code, out.startswith("all loaded dumps (2)")) == (0, True)
    assert err.startswith("warning: ")
    assert "`Objekt`" in err
    assert err.count("\n") == 1


def test_an_empty_answer_says_why(loaded: Callable[..., Ran]) -> None:
    _, out, _ = loaded("query", "gc-timeline")
    assert out.endswith(
        "\nno rows: this dump is not from a trace or log that records collections\n"
    )
    _, out, _ = loaded("query", "born-between", "--json")
    assert json.loads(out)["why_empty"] == "no other dump of this process is loaded"


def test_a_dollar_in_a_string_is_no_parameter(
    loaded: Callable[..., Ran], tmp_path: Path
) -> None:
    file = tmp_path / "own.cypher"
    file.write_text("RETURN 'a$b' AS x, \"$c\" AS y // $d\n", encoding="utf-8")

    code, out, _ = loaded("query", str(file), "--json")

    assert (code, json.loads(out)["rows"]) == (0, [{"x": "a$b", "y": "$c"}])


def test_queries_know_addresses_and_types_as_why_does(
    loaded: Callable[..., Ran],
) -> None:
    code, out, _ = loaded("query", "object", "-p", "address=1C1773", "--json")
    assert (code, json.loads(out)["rows"][0]["type"]) == (0, "StarMiner.LevelScreen")
    code, out, _ = loaded(
        "query", "objects-of-type", "-p", "type=levelscreen", "--json"
    )
    assert (code, len(json.loads(out)["rows"])) == (0, 20)
    assert loaded("query", "object", "-p", "address=0xdead")[0] == 10
    assert loaded("query", "objects-of-type", "-p", "type=Nosuch")[0] == 10


@pytest.mark.slow
def test_a_very_long_type_name_loads(
    command: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "long.gclog"
    name = "N." + "x" * 20_000
    path.write_text(f"a 2 x\nt 1 {name}\no 1 1 10\nr 1 1 0\nc x\n", encoding="utf-8")

    assert command("load", str(path))[0] == 0
    _, out, _ = command("query", "type-histogram", "--json")
    assert json.loads(out)["rows"][0]["type"] == name
    assert command("load", str(path), "--name", "x" * 9000)[0] == 2


@pytest.mark.slow
def test_dropping_twice(loaded: Callable[..., Ran]) -> None:
    assert loaded("drop", "excerpt")[0] == 0
    assert loaded("drop", "excerpt")[0] == 9


@pytest.mark.parametrize("uri", ["foo", "foo://x", "bolt://127.0.0.1:99999", "bolt://"])
def test_an_address_that_is_none(
    ingest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    monkeypatch.setenv("NEO4J_URI", uri)

    code, _, err = ingest("list")

    assert (code, "is not the address of a Neo4j" in err) == (6, True)


def test_a_server_that_goes_away_between_queries_is_one_line(
    ingest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    code, _, err = ingest("list")
    assert (code, err.count("\n")) == (6, 1)
