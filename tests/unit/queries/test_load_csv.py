"""``LOAD CSV`` is found however it is written, and only there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.queries.library import has_load_csv

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

READS = [
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "load csv with headers from $x AS line RETURN line",
    "MATCH (n) LOAD\n\tCSV FROM n.url AS line RETURN line",
    "LOAD /* */ CSV FROM 'x' AS l RETURN l",
    "LOAD // it's\nCSV FROM 'x' AS l RETURN l",
    "RETURN 1 // one line\rLOAD CSV FROM 'x' AS l RETURN l",
    "LOAD\u00a0CSV FROM 'x' AS l RETURN l",
    "LOAD\u2003\u2028CSV FROM 'x' AS l RETURN l",
    "LOAD\\u0020CSV FROM 'x' AS l RETURN l",
    "\\u004cO\\uu0041D C\\u0053V FROM 'x' AS l RETURN l",
    "WITH '\\u0027' AS a LOAD CSV FROM 'x' AS l RETURN l",
    "WITH 'it\\\\' AS a LOAD CSV FROM 'x' AS l RETURN 'b'",
    "WITH 1 AS `a``//` LOAD CSV FROM 'x' AS l RETURN l",
    "CYPHER 25 LOAD CSV FROM 'x' AS l RETURN l",
    "CALL { LOAD CSV FROM 'x' AS l RETURN l } RETURN l",
    "/* open */ LOAD CSV FROM 'x' AS l RETURN l /* LOAD CSV",
]
READS_NOT = [
    "MATCH (n:Object {dump: $dump}) RETURN n.load, n.csv",
    "RETURN 'LOAD CSV'",
    'RETURN "it\'s LOAD CSV" AS a',
    "RETURN 1 AS `LOAD CSV`",
    "// LOAD CSV\nRETURN 1",
    "/* LOAD\nCSV */ RETURN 1",
    "RETURN 'it\\'s a LOAD CSV'",
    "MATCH (load)-->(csv) RETURN load, csv",
]


@pytest.mark.parametrize("text", READS)
def test_it_is_found(text: str) -> None:
    assert has_load_csv(text)


@pytest.mark.parametrize("text", READS_NOT)
def test_nothing_else_is(text: str) -> None:
    assert not has_load_csv(text)


def test_such_a_query_is_never_sent(ingest: Callable[..., Ran], tmp_path: Path) -> None:
    """Not to a server of the user's own either: none answers at this address."""
    query = tmp_path / "reads.cypher"
    query.write_text(READS[0])
    code, out, err = ingest("query", str(query), "--uri", "bolt://127.0.0.1:1")
    assert (code, out) == (5, "")
    assert err.startswith(f"error: {query} has LOAD CSV")
    assert err.count("\n") == 1
