"""Questions over a fleet: SQL that DuckDB runs on the datasets.

The files in ``sql/`` are the library. The library and a user's own SQL see a view for
each dataset, and three more:

- ``readable``: dumps that could be read, with ``version_key``, by which versions are in
  order;
- ``ready``: readable dumps that are complete;
- ``leaks``: suspects of complete dumps with the columns of their dumps; ``bytes`` is
  what they retain, ``leak`` what accumulates where.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ingest.errors import IngestError, QueryError, UnknownDump, UnknownQuery
from ingest.fleet import labels
from ingest.fleet.datasets import DATASETS, HEAVY
from ingest.fleet.workplace import FleetFolder, check_one_rule
from ingest.queries.answer import Answer
from ingest.words.command_line import command, install_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from ingest.fleet.datasets import Dataset


REPORT = (
    "leaks", "growing", "new_since", "alike", "outliers", "types", "programs",
    "failures",
)  # fmt: skip
"""The questions of the report, in order."""

_HEADER = re.compile(r"-- (title|note|next): (.*)")
_MEMORY_LIMIT = "1GB"

_READABLE = r"""
CREATE VIEW readable AS
SELECT *, nullif(list_transform(regexp_extract_all(version, '\d+'),
  lambda digits: try_cast(digits AS BIGINT)), []) AS version_key
FROM dumps WHERE state <> 'failed' """

_READY = "CREATE VIEW ready AS FROM readable WHERE state = 'ready'"

_TOTALS = """
SELECT count(*) AS dumps, count(DISTINCT program) AS programs,
  count(DISTINCT (program, version)) FILTER (version IS NOT NULL) AS versions,
  count(DISTINCT host) AS hosts,
  (SELECT count(*) FROM dumps WHERE state = 'incomplete') AS incomplete,
  (SELECT count(*) FROM dumps WHERE state = 'failed') AS failed
FROM ready
"""

_LEAKS = """
CREATE VIEW leaks AS
SELECT ready.*, rank, fingerprint, sentence, pattern, program_dumps,
  suspects.retained_bytes AS bytes,
  type_name || coalesce(' in ' || holder || coalesce('.' || reference, ''), '') AS leak
FROM suspects JOIN ready USING (dump_id)
JOIN (SELECT program, count(*) AS program_dumps FROM ready GROUP BY program) AS totals
  ON totals.program = ready.program
"""


@dataclass(frozen=True, slots=True)
class FleetQuestion:
    """One question.

    Attributes:
        name: Name of its file.
        title: Title of the answer.
        note: How to read it.
        sql: Its text.
        has_example: Whether the column ``dump`` names a file to look at.
        compares_leaks: Whether fingerprints of several dumps must be of one rule.
    """

    name: str
    title: str
    note: str
    sql: str
    has_example: bool = False
    compares_leaks: bool = False


def questions() -> dict[str, FleetQuestion]:
    """The library, by name."""
    folder = files("ingest.fleet") / "sql"
    return {
        name: _parse(name, (folder / f"{name}.sql").read_text(encoding="utf-8"))
        for name in sorted(
            entry.name.removesuffix(".sql")
            for entry in folder.iterdir()
            if entry.name.endswith(".sql")
        )
    }


def question(name: str) -> FleetQuestion:
    """The question with a name.

    Raises:
        UnknownQuery: there is no such question.
    """
    known = questions()
    if name not in known:
        raise UnknownQuery(
            f"no question is named {name!r}; there are {', '.join(sorted(known))}"
        )
    return known[name]


def own_question(name: str) -> FleetQuestion:
    """The user's own SQL: a file, or ``-`` for standard input.

    Raises:
        QueryError: it cannot be read.
    """
    if name == "-":
        return FleetQuestion("<stdin>", "", "", sys.stdin.read() if sys.stdin else "")
    try:
        return FleetQuestion(name, "", "", Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise QueryError(f"{name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise QueryError(f"{name}: cannot be read (it is not UTF-8)") from error


def _parse(name: str, text: str) -> FleetQuestion:
    said: dict[str, list[str]] = {"title": [], "note": [], "next": []}
    for key, value in _HEADER.findall(text):
        said[key].append(value)
    return FleetQuestion(
        name,
        said["title"][0],
        " ".join(said["note"]),
        text,
        has_example=bool(said["next"]),
        compares_leaks="fingerprint" in text,
    )


class Fleet:
    """A fleet, opened for questions. Nothing in its folder is changed.

    Args:
        folder: Folder of the fleet.
        program: Restricts ``ready`` and ``leaks`` to this program.

    Raises:
        IngestError: there is no fleet, a newer version of heaproots has written it, or
            DuckDB is not installed.
    """

    def __init__(self, folder: Path, program: str | None = None) -> None:
        fleet = FleetFolder(folder)
        if not fleet.exists():
            raise IngestError(
                f"{folder} has no fleet with dumps; make one: "
                f"{command('fleet', 'add', 'FILE', '--to', str(folder))}"
            )
        fleet.check_version()
        try:
            import duckdb
        except ImportError as error:
            raise IngestError(
                f"a fleet needs more packages; {install_command('fleet')}"
            ) from error
        self._folder, self._program = fleet, program
        self._rule: int | None = None
        self._errors = duckdb.Error
        self._connection = duckdb.connect(
            config={
                "memory_limit": _MEMORY_LIMIT,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        for dataset in DATASETS:
            self._add_view(dataset, [str(path) for path in fleet.files(dataset)])
        self._relabelled = self._correct_labels()
        chosen = "" if program is None else f"AND program = {_quoted(program)}"
        self._connection.execute(_READABLE + chosen)
        self._connection.execute(_READY)
        self._connection.execute(_LEAKS)
        self._connection.execute(
            f"SET allowed_directories = [{_quoted(str(folder.absolute()))}]"
        )
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _add_view(self, dataset: Dataset, paths: list[str]) -> None:
        """Make a view of a dataset; columns that its files do not have are null."""
        import polars as pl

        present: set[str] = set()
        source = ""
        if paths:
            quoted = ", ".join(map(_quoted, paths))
            source = (
                f" FROM read_parquet([{quoted}], hive_partitioning = true, "
                "union_by_name = true, hive_types = {'program': VARCHAR})"
            )
            rows = self._connection.execute(f"SELECT *{source} LIMIT 0")
            present = {about[0] for about in rows.description}
        columns = []
        for name, dtype in (dataset.schema | {"program": pl.String()}).items():
            value = f'"{name}"' if name in present else "NULL"
            columns.append(f'CAST({value} AS {_sql_type(dtype)}) AS "{name}"')
        empty = "" if paths else " WHERE false"
        self._connection.execute(
            f'CREATE VIEW "{dataset.name}" AS '
            f"SELECT {', '.join(columns)}{source}{empty}"
        )

    def _correct_labels(self) -> bool:
        """Put corrected labels into ``dumps``; return whether there are any."""
        found = labels.rows(self._folder)
        if not found:
            return False
        types = ", ".join(f"{name} {kind}" for name, kind in labels.COLUMNS.items())
        self._connection.execute(f"CREATE TABLE corrected ({types})")
        values = ", ".join("?" * len(labels.COLUMNS))
        self._connection.executemany(f"INSERT INTO corrected VALUES ({values})", found)
        columns = ", ".join(
            f"CASE WHEN c.source IS NULL THEN added.{name} ELSE c.{name} END AS {name}"
            for name in labels.COLUMNS
            if name != "source"
        )
        self._connection.execute("ALTER VIEW dumps RENAME TO added_dumps")
        self._connection.execute(
            f"CREATE VIEW dumps AS SELECT added.* REPLACE ({columns}) FROM added_dumps "
            "AS added LEFT JOIN corrected AS c ON c.source = added.source"
        )
        return True

    def choose(
        self, names: Sequence[str] = (), where: str | None = None
    ) -> list[dict[str, object]]:
        """Some dumps as rows of ``dumps``, the earliest first.

        Args:
            names: Their addresses, names of their files, or beginnings of their ids.
            where: A condition on the columns of ``ready``; without it incomplete dumps
                can be named, too.

        Raises:
            UnknownDump: no dump has one of the names.
            QueryError: the condition is wrong.
        """
        found: dict[object, dict[str, object]] = {}
        matches = (
            "$name IN (source, name, parse_filename(source)) OR source = $path OR "
            "(length($name) >= 6 AND starts_with(dump_id, $name))"
        )
        for name in names:
            values = {"name": name, "path": str(Path(name).absolute())}
            rows = self._rows(matches, values, "readable")
            if not rows:
                raise UnknownDump(f"the fleet has no readable dump {name}")
            found |= {row["dump_id"]: row for row in rows}
        if where is not None:
            chosen = self._rows(where, {})
            ids = {row["dump_id"] for row in chosen}
            if not names:
                return chosen
            found = {key: row for key, row in found.items() if key in ids}
        return list(found.values())

    def rule(self) -> int:
        """The rule of the dumps' fingerprints; 0 if they have none.

        Raises:
            IngestError: there are several rules.
        """
        if self._rule is None:
            # Files are in folders of the programs that they were added with.
            program = None if self._relabelled else self._program
            self._rule = check_one_rule(self._folder, program)
        return self._rule

    def totals(self) -> dict[str, int]:
        """Numbers of dumps, programs, versions, hosts, incomplete and failed dumps."""
        (row,) = self._run("totals", _TOTALS, {}).dicts()
        return {name: cast("int", value) for name, value in row.items()}

    def loadable(self, answers: Iterable[Answer]) -> frozenset[str]:
        """The examples in answers that can be loaded without their files."""
        named = {
            str(row["dump"])
            for a in answers
            if "dump" in a.columns
            for row in a.dicts()
        }
        asked = {"sources": sorted(named), "wanted": len(HEAVY)}
        chosen = "list_contains($sources, source) AND len(large_datasets) >= $wanted"
        return frozenset(str(row["source"]) for row in self._rows(chosen, asked))

    def _rows(
        self, condition: str, values: Mapping[str, object], view: str = "ready"
    ) -> list[dict[str, object]]:
        sql = f"FROM {view} WHERE ({condition}\n) ORDER BY taken_at, source, dump_id"
        answer = self._run("--where", sql, values)
        return answer.dicts()

    def ask(
        self,
        asked: FleetQuestion,
        *,
        limit: int = 20,
        since: str | None = None,
    ) -> Answer:
        """Answer a question.

        Args:
            asked: The question.
            limit: The most rows, if the question has ``$limit``.
            since: A version, for questions that have ``$since_key``.

        Raises:
            IngestError: it compares leaks whose fingerprints have different rules.
            QueryError: the SQL is wrong, or needs too much memory.
        """
        if asked.compares_leaks:
            self.rule()
        since_key = [int(digits) for digits in re.findall(r"\d+", since or "")] or None
        values: dict[str, object] = {"limit": limit, "since_key": since_key}
        used = {
            name: value for name, value in values.items() if f"${name}" in asked.sql
        }
        return self._run(asked.name, asked.sql, used)

    def run(self, sql: str) -> None:
        """Run our own SQL that has no answer."""
        self._connection.execute(sql)

    def batches(self, sql: str, rows: int) -> Iterator[list[tuple[object, ...]]]:
        """The answer to our own SQL, ``rows`` at a time."""
        cursor = self._connection.execute(sql)
        while batch := cursor.fetchmany(rows):
            yield batch

    def _run(self, name: str, sql: str, values: Mapping[str, object]) -> Answer:
        """The answer to one SELECT, in a transaction that cannot write.

        Raises:
            QueryError: it is not a SELECT, is wrong, or needs too much memory.
        """
        try:
            with self._connection.cursor() as cursor:
                _check_reads(cursor, name, sql)
                cursor.execute("BEGIN TRANSACTION READ ONLY")
                cursor.execute(sql, dict(values))
                columns = tuple(about[0] for about in cursor.description or ())
                rows = tuple(tuple(map(_plain, row)) for row in cursor.fetchall())
        except self._errors as error:
            line = str(error).strip().splitlines()[0]
            raise QueryError(f"{name}: {line}") from error
        return Answer(columns, rows)


_CHANGING = re.compile(r"(enable|disable|truncate|write|force|import)_|checkpoint")
"""How names of functions begin that change the connection or write a log. In DuckDB 1.4
a locked configuration does not stop them."""

_READING = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
"""Kinds of queries that only read."""


def _check_reads(cursor: DuckDBPyConnection, name: str, sql: str) -> None:
    """Accept one SELECT that only reads, as DuckDB itself parses it.

    The kind of statement is not enough: from DuckDB 2 on, ``WITH a AS (COPY ...)`` is a
    SELECT that writes a file. So the kinds of all queries within it are checked.

    Raises:
        QueryError: the SQL is anything else.
    """
    from duckdb import StatementType

    kinds = [statement.type for statement in cursor.extract_statements(sql)]
    if len(kinds) != 1:
        raise QueryError(f"{name}: {len(kinds)} statements; write one SELECT")
    others = {kinds[0].name} - {StatementType.SELECT.name}
    if not others:
        row = cursor.execute("SELECT json_serialize_sql($1)", [sql]).fetchone()
        assert row is not None
        others = _query_kinds(json.loads(row[0])) - _READING
    if others:
        raise QueryError(
            f"{name}: {min(others)} is not accepted, for a fleet is only read; write "
            "one SELECT"
        )


def _query_kinds(parsed: object) -> set[str]:
    """Kinds of all queries in a parsed statement; each can have a WITH clause.

    Functions that do more than read are included.
    """
    found: set[str] = set()
    waiting = [parsed]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            if "cte_map" in one or str(one.get("type")).endswith("_NODE"):
                found.add(str(one.get("type")))
            if _CHANGING.match(name := str(one.get("function_name")).lower()):
                found.add(name)
            waiting += one.values()
    return found or {"what DuckDB cannot show"}


def _quoted(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _sql_type(dtype: object) -> str:
    import polars as pl

    names: dict[Any, str] = {
        pl.Int32: "INTEGER", pl.Int64: "BIGINT", pl.Float64: "DOUBLE",
        pl.String: "VARCHAR", pl.Boolean: "BOOLEAN", pl.Datetime: "TIMESTAMP",
        pl.List: "VARCHAR[]",
    }  # fmt: skip
    return next(name for kind, name in names.items() if dtype == kind)


def _plain(value: object) -> object:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


BATCH_ROWS = 5_000
LARGEST_TYPES = 20
"""Types per dump in the graph; the datasets have all types."""

_TYPE_KEY = "left(sha256(name), 32)"
_VERSION_KEY = "CAST(to_json([program, version]) AS VARCHAR)"

_OF_LABEL = {
    "Program": "SELECT DISTINCT program FROM ready ORDER BY program",
    "Version": f"""
        SELECT {_VERSION_KEY} AS key, program, version, dense_rank() OVER (
          PARTITION BY program ORDER BY version_key NULLS FIRST, version)
        FROM (SELECT DISTINCT program, version, version_key FROM ready)
        WHERE version IS NOT NULL ORDER BY key""",
    "Host": "SELECT DISTINCT host FROM ready WHERE host IS NOT NULL ORDER BY host",
    "FleetType": f"""
        SELECT DISTINCT {_TYPE_KEY} AS key, name FROM (
          SELECT name FROM largest UNION ALL SELECT name FROM leaked) ORDER BY key""",
    "Fingerprint": """
        SELECT fingerprint, arg_max(leak, (bytes, dump_id)),
          arg_max(pattern, (bytes, dump_id)), arg_max(sentence, (bytes, dump_id))
        FROM leaks GROUP BY fingerprint ORDER BY fingerprint""",
    "FleetDump": """
        SELECT dump_id, name, source, format, program, version, host, taken_at,
          uptime_s, object_count, reachable_bytes
        FROM ready ORDER BY dump_id""",
}

_OF_RELATIONSHIP = {
    "HAS_VERSION": f"""
        SELECT DISTINCT program, {_VERSION_KEY} FROM ready
        WHERE version IS NOT NULL ORDER BY ALL""",
    "OF_PROGRAM": "SELECT dump_id, program FROM ready ORDER BY dump_id",
    "OF_VERSION": f"""
        SELECT dump_id, {_VERSION_KEY} FROM ready
        WHERE version IS NOT NULL ORDER BY dump_id""",
    "ON_HOST": """
        SELECT dump_id, host FROM ready WHERE host IS NOT NULL ORDER BY dump_id""",
    "HAS_LEAK": """
        SELECT dump_id, fingerprint, min(rank), sum(retained_bytes)::BIGINT,
          sum(object_count)::BIGINT, sum(share)
        FROM suspects SEMI JOIN ready USING (dump_id)
        WHERE fingerprint IS NOT NULL GROUP BY dump_id, fingerprint ORDER BY ALL""",
    "ACCUMULATES": f"""
        SELECT DISTINCT fingerprint, {_TYPE_KEY} FROM leaked ORDER BY ALL""",
    "HAS_TYPE": f"""
        SELECT dump_id, {_TYPE_KEY} AS key, objects, bytes
        FROM largest ORDER BY dump_id, key""",
}

_LARGEST = f"""
    CREATE OR REPLACE TEMP TABLE largest AS
    SELECT dump_id, name, sum(reachable_count)::BIGINT AS objects,
      sum(reachable_bytes)::BIGINT AS bytes
    FROM types SEMI JOIN ready USING (dump_id)
    WHERE reachable_count > 0 GROUP BY dump_id, name
    QUALIFY row_number() OVER (PARTITION BY dump_id ORDER BY bytes DESC, name)
      <= {LARGEST_TYPES}"""

_LEAKED = """
    CREATE OR REPLACE TEMP TABLE leaked AS
    SELECT DISTINCT suspects.fingerprint, types.name
    FROM suspects SEMI JOIN ready USING (dump_id)
    JOIN types USING (dump_id, type) WHERE suspects.fingerprint IS NOT NULL"""


class FleetGraphRows:
    """Nodes and relationships of a fleet's graph, in batches.

    Args:
        fleet: The fleet, open; its connection gets temporary tables.

    Attributes:
        rule: Version of the rule of the fingerprints; 0 if there are none.

    Raises:
        IngestError: fingerprints have different rules.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.rule = fleet.rule()
        for sql in (_LARGEST, _LEAKED):
            fleet.run(sql)

    def nodes(self, label: str) -> Iterator[list[tuple[object, ...]]]:
        """Rows with the properties of the label's nodes, in order."""
        return self._fleet.batches(_OF_LABEL[label], BATCH_ROWS)

    def relationships(self, name: str) -> Iterator[list[tuple[object, ...]]]:
        """Rows with the keys of both ends, then the properties."""
        return self._fleet.batches(_OF_RELATIONSHIP[name], BATCH_ROWS)
