"""What an agent can ask: each answer is a text of bounded size."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ingest.agents.answer import Page, quoted
from ingest.errors import BadParameter, IngestError, UnknownDump
from ingest.progress import silent
from ingest.readers import probe, stem
from ingest.words.command_line import command
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ingest.answers.asking import OpenedDump
    from ingest.api.asked import Asked
    from ingest.api.reading import ReadingOptions
    from ingest.database.store import Store
    from ingest.progress import Progress
    from ingest.queries.answer import Answer
    from ingest.queries.library import Query
    from ingest.reports.about import From

_KEPT = 2
"""Number of heaps that stay in memory."""

_MOST_FILES = 200
_MOST_LOOKED_AT = 500
"""The most files of unknown suffix whose first bytes are read."""

_MOST_ROWS = 1000
_GRACE_S = 2.0
"""Time for the server to say that a query has taken too long."""

_LONGEST_QUERY = 20_000
_PATHS = 3


def _ignore(_seconds: float) -> None:
    pass


@dataclass
class Tools:
    """The questions, over the dumps that may be read.

    Attributes:
        allowed: Folders whose files may be read.
        reading: Options of reading.
        connection: Address, user, password and database of a Neo4j; all ``None`` for
            the embedded one.
        can_start: Whether the embedded server may be started for a question.
        cypher_s: Seconds that a query of a database may take.
        within: Called with the seconds that are left for a question.
    """

    allowed: Sequence[Path]
    reading: ReadingOptions = field(default_factory=lambda: cast("ReadingOptions", {}))
    connection: tuple[str | None, str | None, str | None, str | None] = (None,) * 4
    can_start: bool = True
    cypher_s: float = 30.0
    within: Callable[[float], None] = _ignore
    _heaps: OrderedDict[tuple[str, int, int], OpenedDump] = field(
        default_factory=OrderedDict
    )
    _stack: ExitStack = field(default_factory=ExitStack)
    _store: Store | None = None

    def close(self) -> None:
        """Free the heaps and the connection."""
        self._heaps.clear()
        self._stack.close()
        self._store = None

    # ------------------------------------------------------------ dumps

    def dumps(self, *, offset: int = 0, progress: Progress = silent) -> str:
        """The files that look like dumps, and the loaded dumps."""
        page = Page()
        rows: list[tuple[object, ...]] = []
        rows += [(name, "file", size, None) for name, size in self._files()]
        try:
            for one in self._opened_store(progress, start=False).dumps():
                rows.append((one.name, "loaded", one.reachable_bytes, one.loaded_at))
        except IngestError as error:
            page.say(f"loaded dumps are not listed: {error}")
        offset = max(offset, 0)
        page.rows(
            ("name", "where", "bytes", "loaded_at"),
            rows[offset:],
            total=len(rows),
            offset=offset,
        )
        page.foot(f"files are searched in: {', '.join(map(str, self.allowed))}")
        page.foot(
            "next: compare(before, after) for two dumps of one program, else "
            "suspects(dump)"
        )
        return page.text()

    def _files(self) -> list[tuple[str, int]]:
        """Paths and sizes of dumps, recognised by name or by their first bytes."""
        found: list[tuple[str, int]] = []
        looked_at = 0
        for folder in self.allowed:
            for path in sorted(folder.rglob("*")):
                if len(found) == _MOST_FILES:
                    return found
                if not self._is_allowed(path) or not path.is_file():
                    continue
                is_named = stem(path.name) != path.name
                if not is_named:
                    looked_at += 1
                if is_named or (looked_at <= _MOST_LOOKED_AT and _is_dump(path)):
                    found.append((str(path), path.stat().st_size))
        return found

    def _is_allowed(self, path: Path) -> bool:
        """Whether a path, with its links followed, is in an allowed folder."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):
            return False
        return any(real.is_relative_to(folder.resolve()) for folder in self.allowed)

    def _file(self, dump: str) -> str | None:
        """The path of a dump that is a file or folder; ``None`` if it is a name.

        Raises:
            UnknownDump: the dump is, or may be, a file that must not be read.
        """
        from ingest.dumps import is_file

        if "\x00" in dump or len(dump) > _LONGEST_QUERY:
            raise UnknownDump("that is no name of a dump")
        outer = dump.partition("::")[0]
        candidates = [Path(outer), *(folder / outer for folder in self.allowed)]
        for path in candidates:
            try:
                is_there = path.exists()
            except OSError:
                continue
            if is_there and self._is_allowed(path):
                if not (path.is_file() or path.is_dir()):
                    raise UnknownDump(f"{quoted(dump)} is a pipe or a device, no file")
                return str(path) + dump[len(outer) :]
        if (
            is_file(dump)
            or "::" in dump
            or any(path.exists() for path in candidates[:1])
        ):
            raise UnknownDump(
                f"{quoted(dump)} is no file in the folders that may be read: "
                f"{', '.join(map(str, self.allowed))}; the tool dumps lists them"
            )
        return None

    def _opened(self, dump: str, progress: Progress) -> OpenedDump:
        """A file's heap, kept for the next question."""
        from ingest.answers.asking import OpenedDump
        from ingest.api.reading import opened

        path = self._file(dump)
        if path is None:
            raise UnknownDump(f"{quoted(dump)} is no file that may be read")
        found = Path(path.partition("::")[0]).stat()
        key = (path, found.st_mtime_ns, found.st_size)
        if key not in self._heaps:
            while len(self._heaps) >= _KEPT:
                self._heaps.popitem(last=False)
            heap = OpenedDump(opened(path, self.reading, progress))
            _ = heap.view
            self._heaps[key] = heap
        self._heaps.move_to_end(key)
        return self._heaps[key]

    def _opened_store(self, progress: Progress, *, start: bool = True) -> Store:
        """The database.

        Raises:
            IngestError: it cannot be opened, or must not be started.
        """
        from ingest.database.store import Store, running_target
        from ingest.system.settings import settings

        if self._store is None:
            is_own = self.connection[0] is not None
            may_start = start and self.can_start
            if not is_own and not may_start and running_target(settings()) is None:
                raise UnknownDump("the embedded Neo4j is not running")
            self._store = self._stack.enter_context(
                Store.open(*self.connection, progress)
            )
        return self._store

    def _asked(self, dump: str, progress: Progress) -> Asked:
        """The dump with this name: a file, or a loaded dump."""
        from ingest.api.asked import AskedFile, AskedStore

        if self._file(dump) is not None:
            return AskedFile(self._opened(dump, progress))
        store = self._opened_store(progress)
        return AskedStore(store, store.select(dump or None))

    # ------------------------------------------------------------ questions

    def summary(self, dump: str, *, progress: Progress = silent) -> str:
        """Figures of a dump, and its largest types."""
        asked, page = self._asked(dump, progress), Page()
        answers = asked.ask_all({"dump": {}, "retained-types": {"limit": "15"}})
        page.say("All sizes are bytes; reachable is what a root keeps alive.")
        page.facts(answers["dump"].dicts()[0])
        page.say("Types by retained size (freed with all instances):")
        types = answers["retained-types"]
        page.rows(types.columns, types.rows)
        page.foot("queries: dump, retained-types")
        page.foot("next: suspects(dump)")
        return page.text()

    def suspects(self, dump: str, *, progress: Progress = silent) -> str:
        """Leak suspects: what piles up, who holds it, where to cut."""
        from ingest.reports.suspects import next_step, no_suspects, of_rows, reasons

        asked, page = self._asked(dump, progress), Page()
        answers = asked.ask_all({"dump": {}, "leak-suspects": {"limit": "10"}})
        (about,) = answers["dump"].dicts()
        incomplete = cast("str | None", about["incomplete"])
        rows = of_rows(answers["leak-suspects"].dicts())
        if not rows:
            page.say(no_suspects(incomplete))
        for number, row in enumerate(rows, start=1):
            page.say(f"Suspect {number}:")
            said = {label.lower(): text for label, text in reasons(row)}
            page.facts(
                {
                    "what": row["sentence"],
                    "type": row["type"],
                    "objects": row["count"],
                    "retained_bytes": row["bytes"],
                    "share_of_reachable_bytes": row["share"],
                    "holder": row["holder"],
                    "field": row["reference"],
                    "root": row["root"],
                    "cut": row["cut"],
                    "advice": row["advice"],
                    "largest": row["address"],
                    **said,
                    "contents": row["contents"],
                    "path": row["path"],
                }
            )
        page.foot("query: leak-suspects")
        if rows:
            page.foot(f"next: why(dump, subject={quoted(rows[0]['type'])})")
        step = next_step(about, dump)
        page.foot(f"{step.text} {step.command}".rstrip())
        return page.text()

    def why(
        self,
        dump: str,
        subject: str,
        *,
        paths: int = _PATHS,
        progress: Progress = silent,
    ) -> str:
        """What keeps an object, or the objects of a type, alive."""
        from ingest.api.shown import Why

        found = Why.of(self._asked(dump, progress), subject, min(max(paths, 1), 20))
        page = Page()
        if found.notice:
            page.say("The name was not exact; see subject.")
        page.facts({"subject": found.name, "kind": found.kind})
        columns = {
            "k-shortest-root-paths": ("root", "steps"),
            "dominator-chain": ("type", "address", "retained_bytes"),
            "referrers-of": ("what", "type", "field", "address", "root_distance"),
            "objects-of-type": ("address", "retained_bytes", "root_distance"),
        }
        for name, answer in found.answers.items():
            page.say(f"{_title(name)} (query: {name})")
            if name == "object":
                for row in answer.dicts():
                    page.facts(row)
                continue
            shown = columns.get(name, answer.columns)
            rows = [[row[column] for column in shown] for row in answer.dicts()[:8]]
            page.data(quoted(list(shown)))
            for row_of_answer in rows:
                if not page.data(quoted(row_of_answer)):
                    page.foot(f"left out: rows of {name}, which run_query shows")
                    break
            if len(answer.rows) > len(rows):
                page.foot(
                    f"left out: {counted(len(answer.rows) - len(rows), 'rows')} "
                    f"of {name}, which "
                    "run_query shows"
                )
        if found.kind == "object":
            page.foot("next: why of the type, or run_query referrers-of")
        else:
            page.foot("next: read the code of the holder on the path")
        return page.text()

    def compare(
        self,
        dumps: Sequence[str],
        *,
        by: Sequence[str] = (),
        top: int = 5,
        progress: Progress = silent,
    ) -> str:
        """What is new, gone or grown between dumps of one program."""
        from ingest.api.calls import compared
        from ingest.database.loaded_dumps import LoadedDumps

        names = [self._file(dump) or dump for dump in dumps]
        if len(names) < 2:
            raise BadParameter("name two dumps or more, in the order they were taken")
        keepers = [LoadedDumps(lambda: self._opened_store(progress))]
        found = compared(names, self.reading, progress, keepers)
        page = Page()
        text = found.text(by or ("suspect", "root-path", "type"), min(max(top, 1), 50))
        page.say("What changed, in bytes and objects; + is more in the last dump.")
        lines = text.splitlines()
        for at, line in enumerate(lines):
            if not page.data(quoted(line)):
                page.foot(
                    f"left out: {counted(len(lines) - at, 'lines')}; "
                    "ask with a smaller top, or "
                    'by=["suspect"]'
                )
                break
        page.foot("next: why(the last dump, the type that grew)")
        return page.text()

    # ------------------------------------------------------------ queries

    def find_query(
        self, words: str, *, offset: int = 0, progress: Progress = silent
    ) -> str:
        """Tested queries of the library that match some words."""
        del progress
        from ingest.answers.asking import FUNCTIONS
        from ingest.queries.library import library, search

        page, offset = Page(), max(offset, 0)
        wanted = words.split()[:20]
        found = [*library().values()]
        if wanted:
            named, others = search(found, wanted)
            found = [*named, *others]
        if not found:
            page.foot("no query has these words; try fewer, or leave them out")
        for at, query in enumerate(found[offset : offset + 12], start=offset):
            taken = [
                f"{p.name}: {p.type}{' (required)' if p.required else ''}"
                for p in query.parameters
                if p.name != "dump"
            ]
            page.say(f"{query.name}: {query.title}")
            page.say(f"  parameters: {', '.join(taken)}")
            page.say(f"  columns: {', '.join(one.name for one in query.columns)}")
            is_of_one = query.name in FUNCTIONS
            where = "files and loaded dumps" if is_of_one else "loaded dumps only"
            page.say(f"  answers from: {where}")
            if at == offset + 11 and len(found) > offset + 12:
                page.foot(
                    f"left out: {counted(len(found) - offset - 12, 'queries')}; "
                    "for more, call "
                    f"again with offset={offset + 12}"
                )
        page.foot("next: run_query(query, dump, parameters)")
        return page.text()

    def run_query(
        self,
        query: str,
        dump: str = "",
        parameters: Mapping[str, object] | None = None,
        *,
        limit: int = 20,
        offset: int = 0,
        progress: Progress = silent,
    ) -> str:
        """Run a query of the library."""
        from ingest.answers.asking import FUNCTIONS
        from ingest.api.asked import AskedFile, spelled
        from ingest.queries.library import find
        from ingest.reports.about import From

        chosen = find(query)
        offset = min(max(offset, 0), _MOST_ROWS)
        most = min(max(limit, 1), _MOST_ROWS - offset) + offset
        given = {name: str(value) for name, value in (parameters or {}).items()}
        given.pop("dump", None)
        given["limit"] = str(most + 1)
        chosen.bind(given, 0)
        is_file = bool(dump) and self._file(dump) is not None
        if is_file and query not in FUNCTIONS:
            raise UnknownDump(
                f"{query} is about several dumps; ask the user to run "
                f"{command('load', 'FILE')}, then name the loaded dump"
            )
        if is_file:
            asked = AskedFile(self._opened(dump, progress))
            given, _ = spelled(asked, chosen, given)
            answer, source = asked.ask(chosen, given), From.TABLES
        else:
            answer, source = self._from_store(chosen, dump, given, most + 1, progress)
        page = Page()
        page.say(f"{chosen.title}; of each column:")
        page.say("; ".join(f"{one.name}: {one.meaning}" for one in chosen.columns))
        page.rows(
            answer.columns,
            answer.rows[offset:most],
            offset=offset,
            more=len(answer.rows) > most,
        )
        asked_for = quoted(given | {"limit": most})
        page.foot(f"query: {query} {asked_for}, answered from: {source}")
        page.foot("next: why(dump, subject) for a type or address of a row")
        return page.text()

    def _from_store(
        self,
        query: Query,
        dump: str,
        given: dict[str, str],
        most: int,
        progress: Progress,
    ) -> tuple[Answer, From]:
        from ingest.api.graph import limited, resolved
        from ingest.reports.about import From

        store, number = self._opened_store(progress), 0
        if not query.is_of_fleet:
            given, asked, _ = resolved(store, query, given, dump or None)
            if asked.about_answer(query).from_tables:
                return asked.ask(query, given), From.TABLES
            number = asked.chosen.dump.number
        values = query.bind(given, number)
        self.within(self.cypher_s + _GRACE_S)
        found = limited(store, query, values, limit=most, timeout_s=self.cypher_s)
        return found[0], From.GRAPH

    def cypher(
        self,
        text: str,
        dump: str = "",
        parameters: Mapping[str, object] | None = None,
        *,
        limit: int = 50,
        progress: Progress = silent,
    ) -> str:
        """Run Cypher that only reads, on loaded dumps."""
        from ingest.api.graph import own_cypher

        if len(text) > _LONGEST_QUERY:
            raise BadParameter(f"a query has at most {_LONGEST_QUERY:,} characters")
        if dump and self._file(dump) is not None:
            raise UnknownDump(
                "cypher needs the graph of a database; ask the user to run "
                f"{command('load', 'FILE')}, then name the loaded dump"
            )
        given = {name: str(value) for name, value in (parameters or {}).items()}
        most = min(max(limit, 1), _MOST_ROWS)
        store = self._opened_store(progress)
        self.within(self.cypher_s + _GRACE_S)
        answer, is_cut = own_cypher(
            store,
            text,
            given,
            dump or None,
            limit=most,
            timeout_s=self.cypher_s,
        )
        page = Page()
        shown = page.rows(answer.columns, answer.rows)
        if is_cut and shown == len(answer.rows):
            page.foot(
                f"left out: all rows after the first {most:,}; raise limit (at most "
                f"{_MOST_ROWS:,}), or aggregate in the query"
            )
        page.foot("next: find_query may have a tested query for the same question")
        return page.text()

    def schema(self, *, progress: Progress = silent) -> str:
        """Labels, relationships and properties of the graph, in a page."""
        del progress
        return schema_page()


def _is_dump(path: Path) -> bool:
    """Whether the first bytes of a file belong to a known format."""
    try:
        probe(str(path))
    except (IngestError, OSError):
        return False
    return True


_TITLES = {
    "object": "The object",
    "k-shortest-root-paths": "Shortest paths from roots, each by another referrer",
    "dominator-chain": "Dominators: freeing any of these frees it",
    "referrers-of": "Referrers, the nearest to a root first",
    "type-totals": "All instances, summed",
    "instances-by-root-path": "All reachable instances by the types on their path",
    "root-paths-of-type": "Shortest paths of the instances that retain most, merged",
    "owners-of-type": "Owners: nearest dominators that are no collections",
    "objects-of-type": "Instances by retained size",
}


def _title(query: str) -> str:
    return _TITLES.get(query, query)


def schema_page() -> str:
    """The graph, from the table that the writers use."""
    from ingest.tables.schema import LABELS, RELATIONSHIPS

    lines = [
        "Every node but Dump has dump = number of its dump: filter by it first.",
        "Sizes are bytes. A property that does not apply is absent (null).",
        "Nodes:",
    ]
    for label in LABELS:
        names = [
            column.name
            for column in label.properties
            if column.name not in ("key", "dump")
        ]
        lines.append(f"({label.name}) {label.meaning}: {' '.join(names)}")
    lines.append("Relationships:")
    for relation in RELATIONSHIPS:
        has = " ".join(column.name for column in relation.properties)
        lines.append(
            f"({relation.start})-[{relation.name}{': ' + has if has else ''}]->"
            f"({relation.end})"
        )
    return "\n".join(lines)
