"""Questions to a dump, the same whether it is a file or loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol, cast

from ingest.errors import QueryError, UnknownDump
from ingest.progress import silent
from ingest.queries.answer import Answer
from ingest.queries.library import find, same_in_library
from ingest.reports.about import About, From
from ingest.reports.html import QuerySource
from ingest.words.text import Captions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ingest.answers.asking import OpenedDump
    from ingest.answers.stored import StoredHeap
    from ingest.compare.dumps import ComparedDump
    from ingest.database.dump_list import ChosenDump
    from ingest.database.store import Store
    from ingest.progress import Progress
    from ingest.queries.library import Query
    from ingest.words.type_names import Subject

    Queries = Mapping[str, Mapping[str, str]]


class Asked(Protocol):
    """A dump that answers the queries of the library."""

    @property
    def about(self) -> About:
        """The dump, as an answer names it."""

    @property
    def loaded_at(self) -> str:
        """When it was loaded, in ISO 8601; empty for a file."""

    @property
    def is_redacted(self) -> bool:
        """Whether its values were removed."""

    def ask(self, query: Query, given: Mapping[str, str]) -> Answer:
        """Answer a query of the library."""

    def ask_all(self, queries: Queries) -> dict[str, Answer]:
        """Answer queries, by name."""

    def find_subject(self, text: str, kind: str = "") -> Subject:
        """Find the object or type that a user means; ``kind`` may be required."""

    def source(self, query: str, given: Mapping[str, str]) -> QuerySource:
        """The query of an answer, to run it in a database."""

    def compared(self) -> Sequence[ComparedDump]:
        """An earlier dump of the program, and this one; empty if there is none."""


_SUBJECTS = {"address": "object", "from": "object", "to": "object", "type": "type"}
"""The kinds of subjects that parameters of these names take."""


def spelled(
    asked: Asked, query: Query, given: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Parameters of a query with addresses and types spelled as in the dump.

    Returns:
        The parameters, and notices about names that were spelled otherwise.

    Raises:
        NotFound: the dump has no such object or type.
    """
    values, notices = dict(given), []
    for parameter in query.parameters if query.columns else ():
        if parameter.name in given and parameter.name in _SUBJECTS:
            kind = _SUBJECTS[parameter.name]
            found = asked.find_subject(given[parameter.name], kind)
            values[parameter.name] = found.name
            notices.append(found.notice)
    return values, notices


LARGE_OBJECTS = 100_000
"""From here on a loaded dump is asked through its stored tables."""


_OF_OTHERS = {"dump", "object"}
"""Queries about the node as it is now, and about an object in other dumps too."""


class AskedFile:
    """A dump that was opened.

    Args:
        opened: The dump.
        progress: Called before each query.
    """

    def __init__(self, opened: OpenedDump, progress: Progress = silent) -> None:
        self._opened = opened
        self._progress = progress

    @property
    def about(self) -> About:
        """The dump, as an answer names it."""
        dump = self._opened.dump
        file = dump.source if dump.options.redaction is not None else dump.what
        return About(dump.name, None, 0, False, dump.graph.incomplete, file, True)

    @property
    def loaded_at(self) -> str:
        """Empty, since the dump is not loaded."""
        return ""

    @property
    def is_redacted(self) -> bool:
        """Whether its values were removed."""
        return self._opened.dump.graph.is_redacted

    def ask(self, query: Query, given: Mapping[str, str]) -> Answer:
        """Answer a query of the library.

        Raises:
            BadParameter: a parameter is missing, unknown or mistyped.
            QueryError: it is about several dumps.
        """
        return self._opened.ask(query.name, given)

    def ask_all(self, queries: Queries) -> dict[str, Answer]:
        """Answer queries, by name."""
        return self._opened.ask_all(queries, self._progress)

    def find_subject(self, text: str, kind: str = "") -> Subject:
        """Find the object or type that a user means; ``kind`` may be required."""
        return self._opened.find_subject(text, kind)

    def source(self, query: str, given: Mapping[str, str]) -> QuerySource:
        """The query of an answer; who runs it must give the dump's number."""
        chosen = find(query)
        values = chosen.bind(given, 0)
        values.pop("dump", None)
        return QuerySource(query, chosen.with_values(values), None)

    def compared(self) -> Sequence[ComparedDump]:
        """Empty, since a file is not compared."""
        return ()


@dataclass(frozen=True)
class AskedStore:
    """A loaded dump.

    A large one beside the embedded server is asked through its stored tables, which
    give the same rows sooner: the first report after a load need not wait for indexes
    and plans. Not if somebody has changed the graph since it was loaded.

    Attributes:
        store: The store that it is in.
        chosen: The dump, among those that are loaded.
        progress: Called before each query.
        asked_from: What shall answer, if that was said.
    """

    store: Store
    chosen: ChosenDump
    progress: Progress = silent
    asked_from: From | None = None

    @property
    def about(self) -> About:
        """The dump, for a sentence."""
        return replace(about_of(self.chosen), from_tables=self._tables is not None)

    def about_answer(self, query: Query) -> About:
        """The same, of the answer of one query."""
        about = about_of(self.chosen, is_of_one=query.is_of_one_dump)
        return replace(about, from_tables=self._has_answer(query))

    @property
    def loaded_at(self) -> str:
        """When it was loaded, in ISO 8601."""
        return self.chosen.dump.loaded_at

    @property
    def is_redacted(self) -> bool:
        """Whether its values were removed."""
        return self.chosen.dump.redacted

    @cached_property
    def _captions(self) -> Captions:
        """Short names of its types."""
        from ingest.database.questions import captions_of

        tables = self._tables
        if tables is None:
            return captions_of(self.store.database, self.chosen.dump.number)
        return Captions(dict(zip(tables.type_names, tables.captions, strict=False)))

    @cached_property
    def _tables(self) -> StoredHeap | None:
        """The stored tables, if they answer; ``None`` if the graph does.

        Raises:
            QueryError: they shall, and cannot.
        """
        dump, shall = self.chosen.dump, self.asked_from is From.TABLES
        if self.asked_from is From.GRAPH or not (
            shall or dump.object_count >= LARGE_OBJECTS
        ):
            return None
        from ingest.answers.stored import StoredHeap
        from ingest.database.bulk import whole_tables

        found = whole_tables(self.store.server, dump.number, dump.sha256)
        if found and self.store.database.is_unedited(dump.number):
            return StoredHeap(found, {"warnings": dump.warnings})
        if shall:
            why = "its graph was changed since" if found else "it has none"
            raise QueryError(f"{dump.name} cannot be asked in its tables: {why}")
        return None

    def ask(
        self,
        query: Query,
        given: Mapping[str, str],
        on_notice: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer a query of the library, or of the user's own.

        Args:
            query: The query.
            given: Its parameters, as text.
            on_notice: Called with each of the server's notices on the query.

        Raises:
            BadParameter: a parameter is missing, unknown or mistyped.
            QueryError: the server does not accept the query.
        """
        from ingest.database.questions import ask

        found = self._from_tables(query, given)
        if found is not None:
            return found
        number = self.chosen.dump.number
        return ask(self.store.database, query, given, number, on_notice)

    def rows(
        self,
        query: Query,
        given: Mapping[str, str],
        on_notice: Callable[[str], None] | None = None,
    ) -> Iterator[dict[str, object]]:
        """Answer as `ask` does, row by row."""
        from ingest.database.questions import ask_rows

        found = self._from_tables(query, given)
        if found is not None:
            return iter(found.dicts())
        number = self.chosen.dump.number
        return ask_rows(self.store.database, query, given, number, on_notice)

    def _has_answer(self, query: Query) -> bool:
        """Whether the stored tables answer a query.

        Raises:
            QueryError: they shall, and cannot.
        """
        from ingest.answers.asking import FUNCTIONS

        if same_in_library(query) == query.name and query.name in FUNCTIONS:
            return query.name not in _OF_OTHERS and self._tables is not None
        if self.asked_from is From.TABLES:
            raise QueryError(f"{query.name} asks the graph only: leave out --from")
        return False

    def _from_tables(self, query: Query, given: Mapping[str, str]) -> Answer | None:
        """The answer of the stored tables; ``None`` if the graph is to be asked."""
        if query.name == "dump" and same_in_library(query) == "dump":
            return self._from_node(query, given)
        if not self._has_answer(query):
            return None
        from ingest.answers.asking import answered

        assert self._tables is not None
        return answered(self._tables, query, query.bind(given, self.chosen.dump.number))

    def _from_node(self, query: Query, given: Mapping[str, str]) -> Answer:
        """The row of ``dump`` from the present node; the dump may have been dropped.

        All dumps are read by the query that every command uses. A server that has just
        started takes many times longer to plan another query than to answer it.
        """
        from ingest.database.dump_list import dump_nodes

        dump = self.chosen.dump
        limit = cast("int", query.bind(given, dump.number)["limit"])
        columns = tuple(column.name for column in query.columns)
        found = [
            tuple(node.properties.get(name) for name in columns)
            for node in dump_nodes(self.store.database)
            if node.number == dump.number
        ]
        return Answer(columns, tuple(found[:limit]))

    def ask_all(self, queries: Queries) -> dict[str, Answer]:
        """Answer queries, by name.

        Raises:
            UnknownDump: The query ``dump`` has no row: the dump is no longer there.
        """
        answers = {}
        for done, (name, given) in enumerate(queries.items()):
            self.progress("ask", done, len(queries))
            answer = self.ask(find(name), given)
            answers[name] = replace(answer, captions=self._captions)
        if "dump" in answers and not answers["dump"].rows:
            raise UnknownDump("the dump has just been dropped or replaced")
        return answers

    def find_subject(self, text: str, kind: str = "") -> Subject:
        """Find the object or type that a user means; ``kind`` may be required."""
        from ingest.database.questions import find_subject

        return find_subject(self.store.database, text, self.chosen.dump, kind)

    def source(self, query: str, given: Mapping[str, str]) -> QuerySource:
        """The query of an answer, with a link to Neo4j Browser."""
        from ingest.server.target import browser_link

        chosen, target = find(query), self.store.database.target
        cypher = chosen.with_values(chosen.bind(given, self.chosen.dump.number))
        known = target.browser_url is not None
        link = browser_link(target, "edit", cypher) if known else None
        return QuerySource(query, cypher, link)

    def compared(self) -> Sequence[ComparedDump]:
        """The dump of the program that was loaded before this one, and this one."""
        return _with_earlier(self.store, self.chosen)


def about_of(chosen: ChosenDump, *, is_of_one: bool = True) -> About:
    """What an answer says about its dump."""
    dump = chosen.dump
    return About(
        dump.name if is_of_one else None,
        dump.number if is_of_one else None,
        chosen.loaded_count,
        chosen.is_newest,
        dump.incomplete if is_of_one else "",
    )


_IN_COMMON = 0.5
"""Two dumps with this share of common types, of the smaller one, are of one program."""


def _with_earlier(store: Store, chosen: ChosenDump) -> Sequence[ComparedDump]:
    from ingest.compare.dumps import of_dump
    from ingest.database.loaded_dumps import LoadedDumps
    from ingest.dumps import Opener
    from ingest.errors import DumpError

    if chosen.loaded_count == 1:
        return []
    dump = chosen.dump
    earlier = [
        one
        for one in store.dumps()
        if (one.number < dump.number and one.format == dump.format)
    ]
    if not earlier:
        return []
    opener = Opener(keepers=[LoadedDumps(partial(_same, store))])
    before = max(earlier, key=lambda one: one.number)
    try:
        found = [of_dump(opener.open(one.name)) for one in (before, dump)]
    except DumpError:  # written by an earlier version, without fingerprints
        return []
    first, last = (one.totals.keys() for one in found)
    fewer = min(len(first), len(last))
    return found if fewer and len(first & last) >= _IN_COMMON * fewer else []


def _same(store: Store) -> Store:
    return store
