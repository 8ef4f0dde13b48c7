"""How dumps are listed from what the server says of their nodes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, cast

from neo4j.time import DateTime

from ingest.database.dump_list import dump_nodes

if TYPE_CHECKING:
    from ingest.database.connection import Database


def at(second: int, microsecond: int = 0, hours: int = 0) -> DateTime:
    zone = timezone(timedelta(hours=hours)) if hours else UTC
    day = datetime(2026, 1, 2, 3 + hours, 4, second, microsecond, zone)
    return DateTime.from_native(day)


class Server:
    """It has dumps, in no order."""

    def read(self, *_: object) -> tuple[tuple[str, ...], list[tuple[object, object]]]:
        nodes = [
            {"number": 1, "state": "ready", "loaded_at": at(5, 120_000)},
            {"number": 3, "state": "ready", "loaded_at": at(5, 120_000)},
            {"number": 4, "state": "ready", "loaded_at": at(5, hours=2)},
            {"number": 2, "state": "loading", "loading_since": at(0)},
            {
                "number": 5,
                "state": "loading",
                "loading_since": at(0),
                "heartbeat": at(7),
            },
        ]
        return ("d", "now"), [(node, at(9)) for node in nodes]


def test_dumps_are_listed_from_the_newest_on() -> None:
    found = dump_nodes(cast("Database", Server()))
    assert [(one.number, one.silent_seconds) for one in found] == [
        (5, 2), (2, 9), (3, None), (1, None), (4, None),
    ]  # fmt: skip
    assert [one.properties.get("loaded_at") for one in found[2:]] == [
        "2026-01-02T03:04:05.12Z",
        "2026-01-02T03:04:05.12Z",
        "2026-01-02T05:04:05+02:00",
    ]
