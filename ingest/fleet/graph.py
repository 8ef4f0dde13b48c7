"""Rows of the graph of a fleet, as `ingest.tables.fleet_graph` declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.fleet.questions import Fleet

BATCH_ROWS = 5_000
LARGEST_TYPES = 20
"""Types of each dump that the graph has; the datasets have them all."""

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
        fleet: Open; the temporary tables of its connection are used.

    Attributes:
        rule: Of the fingerprints; 0 if there are none.

    Raises:
        IngestError: fingerprints have several rules.
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
