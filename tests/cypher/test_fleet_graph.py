"""The graph of a fleet, and its queries against plain Python over the datasets."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from ingest.database.fleet_graph import drop_fleet_graph, write_fleet_graph
from ingest.database.needs import why_empty
from ingest.database.questions import ask
from ingest.errors import StoreError
from ingest.fleet.questions import LARGEST_TYPES, Fleet, FleetGraphRows
from ingest.queries.library import library
from tests.cypher.test_reports import FITS
from tests.dumps.fleet import VERSIONS, write_fleet
from tests.unit.fleet.test_fleet import add_in_process, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ingest.database.connection import Database
    from tests.conftest import Ran

pytestmark = [pytest.mark.server, pytest.mark.slow]

Row = dict[str, Any]
SIZE = 36


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    write_fleet(folder / "in", SIZE, live=20)
    (folder / "in" / "shop" / "1.0" / "none.gclog").write_bytes(b"nothing")
    add_in_process(folder / "in", folder / "fleet")
    return folder / "fleet"


@pytest.fixture(scope="module")
def written(fleet: Path, database: Database) -> Iterator[Database]:
    drop_fleet_graph(database)
    write_fleet_graph(database, FleetGraphRows(Fleet(fleet)))
    yield database
    drop_fleet_graph(database)


@pytest.fixture(scope="module")
def dumps(fleet: Path) -> dict[str, Row]:
    """Complete dumps by id."""
    rows = tables(fleet)["dumps"].filter(state="ready").iter_rows(named=True)
    return {row["dump_id"]: row for row in rows}


@pytest.fixture(scope="module")
def leaks(fleet: Path, dumps: dict[str, Row]) -> list[Row]:
    """One row for each leak of each dump, with the columns of the dump."""
    found: dict[tuple[str, str], Row] = {}
    for row in tables(fleet)["suspects"].iter_rows(named=True):
        key = row["dump_id"], row["fingerprint"]
        known = found.setdefault(key, dumps[row["dump_id"]] | row | {"bytes": 0})
        known["bytes"] += row["retained_bytes"]
    return list(found.values())


def rows(database: Database, name: str, **given: str) -> list[Row]:
    """The answer to a query, held against its header."""
    query = library()[name]
    answer = ask(database, query, {"limit": "1000"} | given, 0)
    assert list(answer.columns) == [column.name for column in query.columns]
    for row in answer.rows:
        for column, value in zip(query.columns, row, strict=True):
            assert value is None or FITS[column.type](value), column.name
    return answer.dicts()


def by(leaks: list[Row], *names: str) -> dict[tuple[object, ...], list[Row]]:
    groups: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in leaks:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def counted(database: Database) -> list[tuple[object, ...]]:
    return database.read(
        "MATCH (n:FleetDump|Program|Version|Host|Fingerprint|FleetType) "
        "OPTIONAL MATCH (n)-[r]->() RETURN labels(n)[0] AS label, type(r) AS type, "
        "count(*) ORDER BY label, type",
        {},
    )[1]


def test_writing_again_changes_nothing(
    fleet: Path, written: Database, dumps: dict[str, Row], leaks: list[Row]
) -> None:
    before = counted(written)
    counts = write_fleet_graph(written, FleetGraphRows(Fleet(fleet)))
    assert counted(written) == before
    assert counts.nodes["FleetDump"] == len(dumps) == SIZE
    assert counts.relationships["HAS_LEAK"] == len(leaks)
    types = tables(fleet)["types"].filter(pl.col("reachable_count") > 0)
    named = types.group_by("dump_id").agg(pl.col("name").n_unique())
    assert named["name"].max() <= LARGEST_TYPES  # type: ignore[operator]
    assert counts.relationships["HAS_TYPE"] == named["name"].sum()


def test_a_run_that_was_interrupted_is_repeated(fleet: Path, written: Database) -> None:
    before = counted(written)
    drop_fleet_graph(written)
    assert counted(written) == []

    class Interrupted(FleetGraphRows):
        def relationships(self, name: str) -> Iterator[list[tuple[object, ...]]]:
            for batch in super().relationships(name):
                yield batch[: len(batch) // 2]
                if name == "HAS_LEAK":
                    raise StoreError("lost")

    with pytest.raises(StoreError, match="lost"):
        write_fleet_graph(written, Interrupted(Fleet(fleet)))
    assert counted(written) != before
    write_fleet_graph(written, FleetGraphRows(Fleet(fleet)))
    assert counted(written) == before


def test_fleets_of_two_rules_are_not_mixed(fleet: Path, written: Database) -> None:
    before = counted(written)
    other = FleetGraphRows(Fleet(fleet))
    other.rule += 1
    with pytest.raises(StoreError, match="ingest fleet graph --drop"):
        write_fleet_graph(written, other)
    assert counted(written) == before


def test_leaks_have_their_share(
    written: Database, dumps: dict[str, Row], leaks: list[Row]
) -> None:
    of_program = by(list(dumps.values()), "program")
    expected = {
        key: (
            len(found),
            round(len(found) / len(of_program[key[:1]]), 4),
            len({row["host"] for row in found}),
            [v for v in VERSIONS if v in {row["version"] for row in found}],
            max(row["bytes"] for row in found),
        )
        for key, found in by(leaks, "program", "fingerprint").items()
    }
    answer = rows(written, "fleet-leaks")
    assert {
        (row["program"], row["fingerprint"]): (
            row["dumps"], row["share"], row["hosts"], row["versions"], row["max_bytes"]
        )
        for row in answer
    } == expected  # fmt: skip
    assert [r["dumps"] for r in answer] == sorted(r["dumps"] for r in answer)[::-1]
    some = rows(written, "fleet-leaks", program="mail", version="2.0")
    assert {row["program"] for row in some} == {"mail"}
    assert all(row["versions"] == ["2.0"] for row in some)


def test_new_leaks_are_those_of_no_earlier_version(
    written: Database, dumps: dict[str, Row], leaks: list[Row]
) -> None:
    for at, version in enumerate(VERSIONS):
        for before in (None, VERSIONS[0]):
            earlier = VERSIONS[:at] if before is None else (before,) * (at > 0)
            expected = set()
            for (program, print_), found in by(leaks, "program", "fingerprint").items():
                total = sum(
                    (row["program"], row["version"]) == (program, version)
                    for row in dumps.values()
                )
                mine = [row for row in found if row["version"] == version]
                elsewhere = [
                    row for row in leaks
                    if row["fingerprint"] == print_ and row["version"] in earlier
                ]  # fmt: skip
                if earlier and len(mine) >= 0.3 * total and mine and not elsewhere:
                    example = max(
                        mine, key=lambda r: (r["bytes"], -int(r["dump_id"], 16))
                    )
                    expected.add((program, print_, len(mine), example["source"]))
            given = {} if before is None else {"before": before}
            answer = rows(written, "fleet-new-leaks", version=version, **given)
            assert {
                (r["program"], r["fingerprint"], r["dumps"], r["example"])
                for r in answer
            } == expected
    (tiles,) = rows(written, "fleet-new-leaks", version="2.1", program="maps")
    assert tiles["leak"] == "Tile in Maps.TileCache"


def test_leaks_by_host_and_their_examples(written: Database, leaks: list[Row]) -> None:
    groups = by(leaks, "host", "program", "fingerprint")
    answer = rows(written, "fleet-leaks-by-host")
    found = {(r["host"], r["program"], r["fingerprint"]): r["dumps"] for r in answer}
    assert found == {key: len(some) for key, some in groups.items()}
    assert all(0 < row["share"] <= 1 for row in answer)
    examples = rows(written, "fleet-examples")
    assert {(row["dump_id"], row["fingerprint"]) for row in examples} == {
        (row["dump_id"], row["fingerprint"]) for row in leaks
    }
    sizes = [row["retained_bytes"] for row in examples]
    assert sizes == sorted(sizes, reverse=True)
    first = examples[0]["fingerprint"]
    for name in ("fleet-examples", "fleet-leaks-by-host"):
        assert {r["fingerprint"] for r in rows(written, name, fingerprint=first)} == {
            first
        }


def test_types_have_their_share(
    fleet: Path, written: Database, dumps: dict[str, Row]
) -> None:
    expected: dict[str, int] = defaultdict(int)
    for row in tables(fleet)["types"].iter_rows(named=True):
        if row["reachable_count"]:
            expected[row["name"]] += row["reachable_bytes"]
    total = sum(row["reachable_bytes"] for row in dumps.values())
    answer = rows(written, "fleet-types")
    assert {row["type"]: row["bytes"] for row in answer} == expected
    assert all(r["share"] == round(r["bytes"] / total, 4) for r in answer)
    assert {r["type"]: r["leaks"] for r in answer}["Maps.Tile"] == 1


def test_an_empty_answer_says_that_there_is_no_fleet(empty_database: Database) -> None:
    query = library()["fleet-leaks"]
    assert ask(empty_database, query, {}, 0).rows == ()
    said = why_empty(empty_database, query, 0)
    assert said is not None
    assert "ingest fleet graph" in said


def test_the_commands(
    fleet: Path, on_server: Callable[..., Ran], empty_database: Database
) -> None:
    ingest = on_server
    code, out, _ = ingest("fleet", "graph", str(fleet))
    assert (code, out.startswith("36 dumps, 4 programs, 12 versions, ")) == (0, True)
    code, out, _ = ingest("query", "fleet-new-leaks", "-p", "version=2.1")
    assert (code, "Maps.TileCache" in out) == (0, True)
    assert ingest("fleet", "graph")[0] == 2
    _, _, err = ingest("browse", "--query", "fleet-leaks")
    assert "no dump is loaded" not in err
    code, out, _ = ingest("fleet", "graph", "--drop")
    assert (code, out.startswith("removed ")) == (0, True)
    assert counted(empty_database) == []
