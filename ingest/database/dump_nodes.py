"""The Dump nodes of a database, whatever their state.

One query for all who ask: a server that has just started takes longer to plan another
one than to answer it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ingest.heap.identity import Identity

if TYPE_CHECKING:
    from ingest.database.connection import Database

_DUMPS = """
MATCH (d:Dump)
RETURN
  d {.*, loaded_at: toString(d.loaded_at), loading_since: toString(d.loading_since),
    heartbeat: toString(d.heartbeat)},
  duration.inSeconds(coalesce(d.heartbeat, d.loading_since), datetime()).seconds
ORDER BY d.loaded_at DESC, d.number DESC
"""


@dataclass(frozen=True, slots=True)
class DumpNode:
    """A Dump node.

    Attributes:
        number: The dump's number.
        state: ``loading``, ``ready`` or ``dropping``.
        properties: All, dates as text.
        silent_seconds: Since its load or drop gave the last sign of life.
    """

    number: int
    state: str
    properties: dict[str, object]
    silent_seconds: int | None

    @property
    def identity(self) -> Identity:
        """Which dump of which file it is."""
        return Identity(
            cast("str", self.properties["sha256"]),
            cast("str | None", self.properties.get("trace")),
            cast("int | None", self.properties.get("part")),
        )


def dump_nodes(database: Database) -> list[DumpNode]:
    """All dumps, those that are being loaded or dropped too; the newest first."""
    _, rows = database.read(_DUMPS, {})
    found = []
    for row in rows:
        properties, seconds = cast("tuple[dict[str, object], int | None]", row)
        number, state = properties["number"], properties["state"]
        found.append(
            DumpNode(cast("int", number), cast("str", state), properties, seconds)
        )
    return found
