"""A user's own query reads the graph, and does nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.database.read_only import check_only_reads
from ingest.errors import IngestError, QueryError
from ingest.queries.library import own_query

if TYPE_CHECKING:
    from ingest.database.connection import Database

pytestmark = pytest.mark.server

REFUSED = (
    "TERMINATE TRANSACTIONS 'neo4j-transaction-99'",
    "SHOW TRANSACTIONS YIELD transactionId AS id TERMINATE TRANSACTIONS id "
    "YIELD message RETURN message",
    "CALL db.clearQueryCaches()",
    "CALL `db`.`clearQueryCaches`()",
    "CALL \\u0064b.clearQueryCaches()",
    "CALL db.prepareForReplanning()",
    "CALL db.resampleIndex('x')",
    "CALL db.stats.clear('QUERIES')",
    "CALL dbms.killConnections(['bolt-99'])",
    "CALL tx.setMetaData({a: 1})",
    "MATCH (n) CALL (n) { CALL db.clearQueryCaches() YIELD value RETURN value } "
    "RETURN value",
    "RETURN EXISTS { CALL db.stats.stop('QUERIES') YIELD section RETURN section }",
    "PROFILE CALL db.clearQueryCaches()",
    "// why\nCYPHER runtime=slotted /* fast */ profile CALL db.clearQueryCaches()",
    "UNWIND [1] AS x CALL (x) { RETURN 1 AS y } IN TRANSACTIONS RETURN y",
)
READ = (
    "MATCH (n:Object {dump: $dump}) RETURN n LIMIT 1",
    "RETURN 'TERMINATE TRANSACTIONS' AS `db.clearQueryCaches()`",
    "PROFILE MATCH (n) RETURN count(n)",
    "EXPLAIN MATCH (n) RETURN count(n)",
    "CYPHER 5 PROFILE MATCH (profile) RETURN count(profile)",
    "CALL db.labels() YIELD label RETURN label",
    "CALL db.schema.visualization()",
    "SHOW TRANSACTIONS",
    "SHOW INDEXES YIELD name RETURN name",
    "SHOW PROCEDURES",
    "SHOW DATABASES",
)
WRITES = (
    "CREATE (n) RETURN n",
    "MATCH (n) SET n.x = 1",
    "CREATE INDEX x FOR (n:Object) ON (n.x)",
    "CREATE USER x SET PASSWORD 'a password'",
    "ALTER CURRENT USER SET PASSWORD FROM 'a password' TO 'another one'",
    "CALL db.createLabel('X')",
)


def check(database: Database, text: str) -> None:
    query = own_query(text, "mine", {})
    check_only_reads(database, query, query.bind({}, 0))


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_more_than_read_is_refused(database: Database, text: str) -> None:
    with pytest.raises(QueryError, match=r"^mine .*: only queries that read the graph"):
        check(database, text)


@pytest.mark.parametrize("text", READ)
def test_what_reads_is_let_through(database: Database, text: str) -> None:
    check(database, text)


@pytest.mark.parametrize("text", WRITES)
def test_what_writes_is_refused_by_us_or_the_server(
    database: Database, text: str
) -> None:
    def run() -> None:
        check(database, text)
        list(database.stream(text, {}))

    with pytest.raises(IngestError):
        run()
