"""``timeline``: the collections recorded in a trace or log, without a database."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ingest.cli.bars import Bars
from ingest.cli.options import AsJson, DumpFile, Format, Reading
from ingest.queries.answer import Answer
from ingest.reports.render import OutputFormat
from ingest.words.command_line import command

if TYPE_CHECKING:
    from ingest.heap.graph import GarbageCollection

_SHORT = {
    "number": "gc",
    "generation": "gen",
    "reason": "reason",
    "started_us": "at ms",
    "duration_us": "took ms",
    "heap_bytes": "heap KiB",
    "promoted_bytes": "promoted KiB",
    "moved_bytes": "moved KiB",
    "is_dump": "dump",
}


def timeline(
    *,
    dump: DumpFile,
    form: Format = OutputFormat.TABLE,
    as_json: AsJson = False,
    reading: Reading,
) -> None:
    """List the garbage collections that DUMP records.

    It need not contain a heap dump. The query gc-timeline lists those of a loaded
    dump. Exit 3: not a readable trace or log.
    """
    from ingest.dumps import is_file
    from ingest.errors import DumpError
    from ingest.heap.graph import GarbageCollection
    from ingest.readers import open_source
    from ingest.readers import timeline as timeline_of
    from ingest.reports.render import write_answer

    if not is_file(dump):
        raise DumpError(
            "collections are read from a dump's file: name that; for a loaded dump: "
            f"{command('query', 'gc-timeline', dump='NAME')}",
            path=dump,
        )
    options = reading.options()
    with Bars() as progress, open_source(dump) as source:
        found = timeline_of(source, options, progress)
    chosen = OutputFormat.JSON if as_json else form
    if chosen is OutputFormat.TABLE:
        write_answer(_short(found), chosen)
        return
    rows = tuple(dataclasses.astuple(one) for one in found)
    columns = tuple(field.name for field in dataclasses.fields(GarbageCollection))
    write_answer(Answer(columns, rows), chosen)


def _short(found: list[GarbageCollection]) -> Answer:
    """The columns that fit a terminal, in short units."""

    def shown(name: str, value: object) -> object:
        if isinstance(value, bool):
            return "yes" if value else ""
        if isinstance(value, int) and name.endswith("_us"):
            return value / 1000
        if isinstance(value, int) and name.endswith("_bytes"):
            return -(-value // 1024)
        return value

    rows = (tuple(shown(name, getattr(one, name)) for name in _SHORT) for one in found)
    return Answer(tuple(_SHORT.values()), tuple(rows))
