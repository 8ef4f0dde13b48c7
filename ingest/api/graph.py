"""The dumps of a Neo4j: loading them, queries of the library, the user's own Cypher."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Unpack

from ingest.api.asked import AskedStore, spelled
from ingest.api.reading import ReadingOptions, read_options
from ingest.api.shown import Report, Why, frame_of
from ingest.progress import silent
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import polars as pl

    from ingest.database.loading import Receipt
    from ingest.database.store import Store
    from ingest.database.writing import Via
    from ingest.progress import Progress
    from ingest.queries.answer import Answer
    from ingest.queries.library import Query, Value
    from ingest.reports.about import From

CYPHER_ROWS, CYPHER_SECONDS = 10_000, 30.0
"""Default limits of rows and seconds for the user's own Cypher."""


class Graph:
    """The dumps of a Neo4j; `ingest.connect` makes it.

    Args:
        store: An open store.
        progress: Called with stage, units done, and their number or ``None``.
    """

    def __init__(self, store: Store, progress: Progress = silent) -> None:
        self._store = store
        self._progress = progress

    def load(
        self,
        dump: str,
        *,
        name: str | None = None,
        replace: bool = False,
        via: Via | Literal["auto", "bolt", "bulk"] = "auto",
        **reading: Unpack[ReadingOptions],
    ) -> Receipt:
        """Load a dump, unless it is already loaded.

        Args:
            dump: A path, or ``-``.
            name: Name of the dump; by default made from the file's name.
            replace: Load it again if it is already loaded.
            via: How to write it.
            reading: Options; see `ingest.api.reading.ReadingOptions`.

        Returns:
            Its name, number and counts, and whether it was loaded now.

        Raises:
            DumpError: it cannot be read.
            StoreError: the server refused, or the name is taken.
        """
        from ingest.database.loading import Loader
        from ingest.database.writing import Via

        loader = Loader(
            self._store,
            via=Via(via),
            name=name,
            replace=replace,
            options=read_options(reading),
            progress=self._progress,
        )
        return loader.load(str(dump))

    def dumps(self) -> pl.DataFrame:
        """All loaded dumps, the newest first.

        Returns:
            ``number`` (what queries find in ``$dump``), ``name``, ``format``,
            ``source``, counts, ``shallow_bytes``, ``reachable_bytes``, ``loaded_at``
            and the other fields of `ingest list --json`.
        """
        from dataclasses import asdict

        import polars as pl

        rows = [asdict(one) for one in self._store.dumps()]
        return pl.DataFrame(rows, strict=False, infer_schema_length=None)

    def query(
        self, query: str, *, dump: str | None = None, **parameters: object
    ) -> pl.DataFrame:
        """Ask a query of the library.

        Args:
            query: Its name, such as ``leak-suspects``; see ``ingest queries``.
            dump: A loaded dump; the newest by default.
            parameters: Its parameters, such as ``limit=5``. Addresses and types
                may be spelled as `why` takes them.

        Returns:
            The columns that the query declares.

        Raises:
            UnknownQuery: no query has that name.
            BadParameter: a parameter is missing, unknown or mistyped.
            UnknownDump: there is no such dump.
        """
        from ingest.queries.library import find

        given = {key: str(value) for key, value in parameters.items()}
        return frame_of(ask_library(self._store, find(query), given, dump)[0])

    def cypher(
        self,
        text: str,
        *,
        dump: str | None = None,
        limit: int = CYPHER_ROWS,
        timeout_s: float = CYPHER_SECONDS,
        **parameters: object,
    ) -> pl.DataFrame:
        """Run your own Cypher, which may only read, up to a time and a number of rows.

        Args:
            text: One statement; ``$dump`` is the number of the dump.
            dump: A loaded dump; the newest by default.
            limit: The most rows; more rows are an error.
            timeout_s: Seconds after which the server stops.
            parameters: Parameters of the statement.

        Returns:
            The columns that it returns.

        Raises:
            QueryError: it does more than read, is wrong, takes too long, or has more
                than ``limit`` rows.
        """
        from ingest.errors import QueryError

        given = {key: str(value) for key, value in parameters.items()}
        found, is_cut = own_cypher(
            self._store, text, given, dump, limit=limit, timeout_s=timeout_s
        )
        if is_cut:
            raise QueryError(
                f"the query has more than {counted(limit, 'rows')}; "
                "add a LIMIT to it, or pass a "
                "larger limit"
            )
        return frame_of(found)

    def why(self, subject: str, *, dump: str | None = None, paths: int = 5) -> Why:
        """The answer of ``ingest why`` for a loaded dump.

        Args:
            subject: An address, or a type's full or short name.
            dump: A loaded dump; the newest by default.
            paths: The most paths.

        Raises:
            NotFound: the dump has no such object or type.
        """
        return Why.of(self._asked(dump), subject, paths)

    def report(self, *, dump: str | None = None) -> Report:
        """The leak report of a loaded dump; the newest by default."""
        return Report(self._asked(dump))

    def _asked(self, dump: str | None) -> AskedStore:
        return AskedStore(self._store, self._store.select(dump), self._progress)


@contextmanager
def connect(
    uri: str | None = None,
    username: str | None = None,
    password: str | None = None,
    database: str | None = None,
    *,
    progress: Progress = silent,
) -> Iterator[Graph]:
    """Open the embedded Neo4j, which is started if needed, or another one.

    The embedded server is a process of its own. It goes on after the ``with``, as after
    a command, and stops by itself when it has been idle; ``ingest server stop`` stops
    it at once.

    Args:
        uri: Another server, such as ``neo4j+s://HOST``; by default ``NEO4J_URI``.
        username: The user there.
        password: The password there.
        database: The name of its database.
        progress: Called with stage, units done, and their number or ``None``.

    Raises:
        StoreError: it cannot be opened.
        EmbeddedError: the embedded one cannot be fetched or started.

    Example:
        >>> with ingest.connect() as graph:                     # doctest: +SERVER
        ...     name = graph.load("example.gclog").name
        ...     graph.query("leak-suspects", limit=1)["object_count"].to_list()
        [24]
    """
    from ingest.database.store import Store

    with Store.open(
        uri, username, password, database, progress, for_dumps=False
    ) as store:
        yield Graph(store, progress)


def resolved(
    store: Store,
    query: Query,
    given: dict[str, str],
    dump: str | None,
    source: From | None = None,
) -> tuple[dict[str, str], AskedStore, list[str]]:
    """``given`` with addresses and types spelled as in the dump.

    Args:
        store: The dumps.
        query: The query.
        given: Its parameters as text.
        dump: The dump; that of the query by default, or the newest.
        source: What shall answer, if that was said.

    Returns:
        The parameters, the dump, and notices about names that were spelled otherwise.

    Raises:
        NotFound: the dump has no such object or type.
        UnknownDump: there is no such dump.
    """
    chosen = store.select(dump, query.preset_dump)
    asked = AskedStore(store, chosen, asked_from=source)
    values, notices = spelled(asked, query, given)
    return values, asked, notices


def ask_library(
    store: Store,
    query: Query,
    given: dict[str, str],
    dump: str | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> tuple[Answer, dict[str, str], AskedStore | None]:
    """Ask a query of the library.

    Returns:
        The answer, the parameters as the dump spells them, and the dump; ``None`` for a
        query of fleets.
    """
    from ingest.database.questions import ask

    query.bind(given, 0)
    if query.is_of_fleet:
        return ask(store.database, query, given, 0, on_notice), given, None
    values, asked, _ = resolved(store, query, given, dump)
    return asked.ask(query, values, on_notice), values, asked


def own_cypher(
    store: Store,
    text: str,
    given: dict[str, str],
    dump: str | None,
    *,
    limit: int,
    timeout_s: float,
) -> tuple[Answer, bool]:
    """Run the user's own Cypher, which may only read.

    Returns:
        At most ``limit`` rows, and whether there are more.

    Raises:
        QueryError: it does more than read, is wrong, or takes too long.
    """
    from ingest.database.read_only import check_only_reads
    from ingest.queries.library import own_query

    query = own_query(text, "the query", given)
    number = 0
    if any(parameter.name == "dump" for parameter in query.parameters):
        number = store.select(dump, query.preset_dump).dump.number
    values = query.bind(given, number)
    check_only_reads(store.database, query, values)
    return limited(store, query, values, limit=limit, timeout_s=timeout_s)


def limited(
    store: Store,
    query: Query,
    values: Mapping[str, Value],
    *,
    limit: int,
    timeout_s: float,
) -> tuple[Answer, bool]:
    """Run a query, for reading, up to some rows.

    Returns:
        At most ``limit`` rows, and whether there are more.

    Raises:
        QueryError: it is wrong, or takes longer than ``timeout_s``.
    """
    from ingest.database.questions import plain
    from ingest.queries.answer import Answer

    columns: tuple[str, ...] = ()
    rows: list[tuple[object, ...]] = []
    for names, row in store.database.stream(query.text, values, timeout_s=timeout_s):
        columns = names
        if row is not None:
            if len(rows) == limit:
                return Answer(columns, tuple(rows)), True
            rows.append(tuple(map(plain, row)))
    return Answer(columns, tuple(rows)), False
