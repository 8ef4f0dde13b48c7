"""The only module that uses the driver: addresses, retries, meaning of errors."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from textwrap import shorten
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil
from neo4j import GraphDatabase, basic_auth
from neo4j import Query as Statement
from neo4j import exceptions as errors
from neo4j.auth_management import AuthManager

from ingest.database.edits import Unedited
from ingest.errors import (
    AccessRefused,
    Conflict,
    InTheWay,
    NeedsRestart,
    QueryError,
    QueryTooLarge,
    ServerFailed,
    ServerUnavailable,
    StoreError,
)
from ingest.server.process import Listener
from ingest.system import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from neo4j import Auth, Driver, ManagedTransaction, Result, ResultSummary, Session

    from ingest.server.embedded import EmbeddedServer
    from ingest.server.target import Target

    Find = Callable[[StoreError, Target], Target]
    T = TypeVar("T")

CONNECT_SECONDS = 10.0
_PANIC = "encountered a critical error, and needs to be restarted"
_TIMED_OUT = "TransactionTimedOut"
_MADE_BY_ANOTHER = (
    "EquivalentSchemaRuleAlreadyExists",
    "IndexAlreadyExists",
    "IndexWithNameAlreadyExists",
    "ConstraintAlreadyExists",
    "ConstraintWithNameAlreadyExists",
)
"""Error codes that two concurrent ``IF NOT EXISTS`` can cause."""
_SAID_LENGTH = 120
_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
RETRY_SECONDS = 20.0
"""How long a transaction is retried after a deadlock or a lost connection."""


@contextmanager
def _translated(uri: str) -> Iterator[None]:
    """Turn the driver's errors into ours, one line each."""
    try:
        with interrupts.kept():
            yield
    except (errors.AuthError, errors.TokenExpired) as error:
        raise AccessRefused(
            f"{uri} refuses the user name or password; "
            "set NEO4J_USERNAME and NEO4J_PASSWORD"
        ) from error
    except (errors.ServiceUnavailable, errors.SessionExpired) as error:
        raise ServerUnavailable(
            f"no Neo4j answers at {uri}; is it running? ({_first_line(error)})"
        ) from error
    except errors.ClientError as error:
        code = error.code or ""
        if code.endswith("ConstraintValidationFailed"):
            raise Conflict(f"{uri}: {_first_line(error)}") from error
        if code.endswith(_MADE_BY_ANOTHER):
            raise InTheWay(f"{uri}: {_first_line(error)}") from error
        if _TIMED_OUT in code:
            raise QueryError(
                "the query takes longer than it may; make it smaller, or give it more "
                "time"
            ) from error
        if ".Statement." in code or ".Procedure." in code:
            raise query_error(str(error.message or _first_line(error))) from error
        raise StoreError(f"{uri}: {_first_line(error)}") from error
    except errors.TransientError as error:
        if _is_memory(error):
            raise _too_large(uri) from error
        raise InTheWay(f"{uri}: {_first_line(error)}") from error
    except (errors.Neo4jError, errors.DriverError) as error:
        if _PANIC in _first_line(error):
            raise NeedsRestart(
                f"{uri} has met a critical error and needs to be restarted; its log "
                "says why, for example a full disk"
            ) from error
        if _is_memory(error):
            raise _too_large(uri) from error
        if isinstance(error, errors.DatabaseError):
            said = shorten(_first_line(error), _SAID_LENGTH)
            raise ServerFailed(
                f"{uri} has failed, perhaps because its disk is full; its log says "
                f"more "
                f"({said})"
            ) from error
        raise StoreError(f"{uri}: {_first_line(error)}") from error
    except ValueError as error:
        raise StoreError(f"{uri}: {_first_line(error)}") from error


_PLACE = re.compile(r"(.*) \(line (\d+), column (\d+) \(offset: \d+\)\)")
_EXPLAIN = "EXPLAIN "
_LONGEST_CLAUSE, _BEFORE_CARET, _WIDTH = 60, 50, 76


def query_error(message: str) -> QueryError:
    """A short error for a query that the server rejects.

    It says in one clause what is wrong. Its notes are the line of the query, and a
    caret below the place.

    Args:
        message: The server's message: what is wrong and where, perhaps with a long list
            of expected words; then the line of the query in quotes; then a caret.
    """
    first, *rest = message.strip().splitlines()
    if first.startswith("Writing in read access mode"):
        return QueryError("the query writes: only queries that read the graph are run")
    found = _PLACE.fullmatch(first)
    if found is None or not rest:
        return QueryError(first)
    said, number, column = found[1], int(found[2]), int(found[3])
    line = rest[0].removeprefix('"').removesuffix('"')
    if number == 1 and line.startswith(_EXPLAIN):  # our own: see `Database.plan`
        line, column = line.removeprefix(_EXPLAIN), column - len(_EXPLAIN)
    what, _, expected = said.partition(": expected ")
    if what == "Invalid input ''":
        what = "the query ends too early"
    given = what.split("'")[1:2]
    words = re.findall(r"'(.+?)'", expected)
    if near := [word for one in given for word in get_close_matches(one, words, 1)]:
        what += f"; did you mean {near[0]}"
    elif expected and len(expected) <= _LONGEST_CLAUSE:
        what += f": expected {expected}"
    error = QueryError(f"{what} (line {number}, column {column})")
    at = column - 1
    begin = max(0, at - _BEFORE_CARET)
    error.add_note(line[begin : begin + _WIDTH].replace("\t", " "))
    error.add_note(" " * (at - begin) + "^")
    return error


def _is_memory(error: Exception) -> bool:
    """Whether the server had too little memory for a query."""
    code = getattr(error, "code", None) or ""
    return str(code).endswith("OutOfMemoryError") or "StackOverFlow" in str(code)


def _too_large(uri: str) -> QueryTooLarge:
    return QueryTooLarge(
        f"{uri} has too little memory for this query: ask for less (a smaller limit, "
        "nearer objects), or give Neo4j more (INGEST_NEO4J_HEAP_MIB, or "
        "server.memory.heap.max_size of your own server)"
    )


def _first_line(error: Exception) -> str:
    text = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(text).strip().splitlines()[0].rstrip(":")


_WITH_NOTICES = {"notifications_min_severity": "INFORMATION"}


def _notices(summary: ResultSummary) -> Iterator[str]:
    """The server's notices on a query, one line each."""
    for status in summary.gql_status_objects:
        if status.is_notification:
            text = " ".join(status.status_description.split())
            _, _, said = text.partition(". ")
            yield said or text


class Database:
    """One database of one server, open.

    Attributes:
        target: Address of the server, and name of the database.
        server: The embedded server, if it is this one. Then the tables of dumps are
            stored beside its store.
    """

    def __init__(
        self, target: Target, find: Find | None, server: EmbeddedServer | None
    ) -> None:
        self.target = target
        self.server = server
        self._driver = _driver(target)
        self._find = find
        self._writing, self._lock = 0, Lock()

    def close(self) -> None:
        """Close all connections."""
        with interrupts.kept():
            self._driver.close()

    def move(self, target: Target) -> None:
        """Use another server, or the same one after a restart."""
        self._driver.close()
        self.target, self._driver = target, _driver(target)

    def open(self) -> None:
        """Make sure that the server answers, wherever it is now; retry nothing."""
        self._on_server(lambda: self.run("RETURN 1"))

    def _on_server(self, work: Callable[[], T]) -> T:
        """Do ``work``, which writes nothing; repeat it if the server was lost."""
        try:
            return work()
        except (NeedsRestart, ServerUnavailable) as error:
            if self._find is None:
                raise
            self.move(self._find(error, self.target))
            return work()

    def _bookmark(self) -> str:
        """What the last transaction that has changed the database is called."""
        with _translated(self.target.uri), self._session() as session:
            session.execute_read(lambda transaction: transaction.run("RETURN 1"))
            return " ".join(sorted(session.last_bookmarks().raw_values))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Note that what is written in the block is no edit of the user's.

        That is said of whatever anybody writes meanwhile. Blocks can be in another one,
        or overlap in several threads: then they are one.
        """
        if self.server is None:
            yield
            return
        unedited = Unedited(self.server.home)
        with self._lock:
            if not self._writing:
                unedited.begin(self._bookmark())
            self._writing += 1
        try:
            yield
        finally:
            with self._lock:
                self._writing -= 1
                if not self._writing:
                    bookmark = ""  # of a database that is lost: what it has is unknown
                    try:
                        with suppress(StoreError):
                            bookmark = self._bookmark()
                    finally:
                        unedited.end(bookmark)

    def note_stored(self, *numbers: int, is_new: bool = False) -> None:
        """Note dumps that were written just now, and of which the tables are stored.

        Args:
            numbers: The dumps.
            is_new: Whether this is another store, which has no other dumps.
        """
        if self.server is not None:
            bookmark = self._bookmark()
            Unedited(self.server.home).add(numbers, bookmark, is_new=is_new)

    def is_unedited(self, number: int) -> bool:
        """Whether nobody has changed the graph of a dump since it was loaded."""
        if self.server is None:
            return False
        bookmark = self._on_server(self._bookmark)
        return Unedited(self.server.home).has(number, bookmark)

    def _session(self, **options: Any) -> Session:  # noqa: ANN401
        return self._driver.session(database=self.target.database, **options)

    def read(
        self,
        text: str,
        values: Mapping[str, object],
        on_notice: Callable[[str], None] | None = None,
    ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Run ``text`` in a read transaction, retried while that can help.

        Args:
            text: The query.
            values: Its parameters.
            on_notice: Called with each of the server's notices on the query, such as
                that no node has a label.

        Returns:
            The columns' names, and the rows.

        Raises:
            QueryError: the server does not accept the query.
            StoreError: the server was lost, or refuses for another reason.
        """

        def work(
            transaction: ManagedTransaction,
        ) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
            try:
                result = transaction.run(text, dict(values))
                rows = [tuple(record.values()) for record in result]
            except errors.Neo4jError as error:
                if _is_memory(error):  # trying again would not help
                    raise _too_large(self.target.uri) from error
                raise
            columns = tuple(result.keys())
            if on_notice is not None:
                notices.extend(_notices(result.consume()))
            return columns, rows

        notices: list[str] = []
        options = {} if on_notice is None else _WITH_NOTICES

        def read() -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
            with _translated(self.target.uri), self._session(**options) as session:
                return session.execute_read(work)

        answer = self._on_server(read)
        for notice in dict.fromkeys(notices):
            assert on_notice is not None
            on_notice(notice)
        return answer

    def stream(
        self,
        text: str,
        values: Mapping[str, object],
        on_notice: Callable[[str], None] | None = None,
        timeout_s: float | None = None,
    ) -> Iterator[tuple[tuple[str, ...], tuple[object, ...] | None]]:
        """Run ``text`` for reading, row by row; first the columns with ``None``.

        Args:
            text: The query.
            values: Its parameters.
            on_notice: Called with each of the server's notices on the query.
            timeout_s: Seconds after which the server stops it; ``None`` for its own
                limit.
        """
        options = {} if on_notice is None else _WITH_NOTICES
        with (
            _translated(self.target.uri),
            self._session(default_access_mode="READ", **options) as session,
        ):
            result: Result = session.run(
                Statement(text, timeout=timeout_s), dict(values)
            )
            columns = tuple(result.keys())
            yield columns, None
            for record in result:
                yield columns, tuple(record.values())
            if on_notice is not None:
                for notice in _notices(result.consume()):
                    on_notice(notice)

    def plan(self, text: str, values: Mapping[str, object]) -> dict[str, Any]:
        """The server's plan of a query that begins with ``EXPLAIN``; empty if none.

        Raises:
            QueryError: the server does not accept the query.
        """

        def plan() -> dict[str, Any]:
            with (
                _translated(self.target.uri),
                self._session(default_access_mode="READ") as session,
            ):
                return session.run(text, dict(values)).consume().plan or {}

        return self._on_server(plan)

    def write(
        self, text: str, values: Mapping[str, object]
    ) -> tuple[list[tuple[object, ...]], ResultSummary]:
        """Run ``text`` in one write transaction, retried while that can help.

        A transaction is not retried if it may have been committed, so that nothing is
        written twice.
        """

        def work(
            transaction: ManagedTransaction,
        ) -> tuple[list[tuple[object, ...]], ResultSummary]:
            result = transaction.run(text, dict(values))
            rows = [tuple(record.values()) for record in result]
            return rows, result.consume()

        with (
            self.writing(),
            _translated(self.target.uri),
            self._session() as session,
        ):
            return session.execute_write(work)

    def write_all(self, texts: Sequence[str]) -> None:
        """Run statements without parameters in one transaction, without retries."""
        with (
            self.writing(),
            _translated(self.target.uri),
            self._session() as session,
            session.begin_transaction() as transaction,
        ):
            for text in texts:
                transaction.run(text).consume()

    def run(self, text: str, values: Mapping[str, object] | None = None) -> None:
        """Run a statement that commits by itself: schema, ``IN TRANSACTIONS``."""
        with (
            self.writing(),
            _translated(self.target.uri),
            self._session() as session,
        ):
            session.run(text, dict(values or {})).consume()


class OwnServer(AuthManager):
    """Gives the driver the password as long as our process listens on the port.

    Any user of the machine can listen there once our server was stopped or killed; the
    driver would send that user the password when it connects again.
    """

    def __init__(self, target: Target) -> None:
        assert target.pid is not None
        self._uri = target.uri
        port = urlsplit(target.uri).port
        self._auth = basic_auth(target.username, target.password or "")
        try:
            process = psutil.Process(target.pid)
            self._listener: Listener | None = Listener(process, port)
        except psutil.Error:  # it has just ended
            self._listener = None

    def get_auth(self) -> Auth:
        """The credentials; the driver asks each time before it sends them.

        Raises:
            ServerUnavailable: Our process no longer listens there.
        """
        if self._listener is None or not self._listener.is_open():
            raise ServerUnavailable(
                f"the embedded Neo4j at {self._uri} has ended; run the command again"
            )
        return self._auth

    def handle_security_exception(self, auth: object, error: object) -> bool:
        """Whether other credentials may help; there are none."""
        return False


def _check_address(uri: str) -> None:
    """Raise an error that says what is wrong with an address; the driver has codes."""
    try:
        parts = urlsplit(uri)
        fits = parts.scheme in _SCHEMES and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        fits = False
    if not fits:
        raise StoreError(
            f"{uri} is not the address of a Neo4j; use one such as bolt://HOST:7687, "
            f"or with TLS "
            "bolt+s://HOST or neo4j+s://HOST"
        )


def _driver(target: Target) -> Driver:
    auth: tuple[str, str] | AuthManager | None = None
    if target.pid is not None:
        auth = OwnServer(target)
    elif target.password is not None:
        auth = (target.username, target.password)
    with _translated(target.uri):
        return GraphDatabase.driver(
            target.uri,
            auth=auth,
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=2 * CONNECT_SECONDS,
            max_transaction_retry_time=RETRY_SECONDS,
            notifications_min_severity="OFF",
        )


@contextmanager
def connect(
    target: Target,
    find: Find | None = None,
    *,
    server: EmbeddedServer | None = None,
) -> Iterator[Database]:
    """Open ``target`` and make sure that it answers.

    Args:
        target: The server.
        find: Called with the error and the target when the server is lost, now or
            later; starts it again, and returns its address. An interrupted read is then
            repeated. A write is not: nobody knows whether it was committed.
        server: The embedded server, if it is this one and its store may be changed.

    Raises:
        ServerUnavailable: nothing answers.
        AccessRefused: the credentials are wrong.
        StoreError: the address or the database's name is invalid.
    """
    _check_address(target.uri)
    # Without a handler, logging would print the driver's warning of each retry.
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    database = Database(target, find, server)
    try:
        database.open()
        yield database
    finally:
        database.close()
