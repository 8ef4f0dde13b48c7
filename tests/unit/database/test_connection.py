"""The password goes to our own server only, and its errors say what to do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, ClassVar, cast

import neo4j
import pytest

from ingest.database.connection import OwnServer, _translated, connect, query_error
from ingest.database.indexes import ensure_needed
from ingest.errors import NeedsRestart, ServerFailed, ServerUnavailable, StoreError
from ingest.server.target import Target
from ingest.system import interrupts
from ingest.tables.schema import constraint_statements, needed_statements

if TYPE_CHECKING:
    from ingest.database.connection import Database

BOLT_5_4 = b"\0\0\x04\x05"


def test_the_password_is_not_sent_to_who_took_the_port_of_our_server() -> None:
    received = bytearray()

    def listen() -> None:
        connection, _ = thief.accept()
        with connection:
            connection.settimeout(5)
            received.extend(connection.recv(20))
            connection.sendall(BOLT_5_4)
            while piece := connection.recv(4096):
                received.extend(piece)

    ours = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        with socket.socket() as thief:
            thief.bind(("127.0.0.1", 0))
            thief.listen()
            thread = threading.Thread(target=listen)
            thread.start()
            uri = f"bolt://127.0.0.1:{thief.getsockname()[1]}"
            target = Target(uri, "neo4j", "correct-horse", "neo4j", pid=ours.pid)
            with pytest.raises(ServerUnavailable, match="has ended"), connect(target):
                pass
            thread.join()
    finally:
        ours.communicate(b"\n")
    assert received.startswith(b"\x60\x60\xb0\x17"), "the driver was to connect"
    assert b"correct-horse" not in received


LISTENER = """
import socket
with socket.socket() as listener:
    listener.bind(("127.0.0.1", int(input())))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    input()
"""


def test_credentials_are_given_while_our_process_listens() -> None:
    def listen(port: int) -> tuple[subprocess.Popen[str], int]:
        process = subprocess.Popen(
            [sys.executable, "-c", LISTENER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{port}\n")
        process.stdin.flush()
        return process, int(process.stdout.readline())

    ours, port = listen(0)
    server = OwnServer(
        Target(f"bolt://127.0.0.1:{port}", "neo4j", "x", "neo4j", pid=ours.pid)
    )
    assert server.get_auth() == server.get_auth() == neo4j.basic_auth("neo4j", "x")
    ours.communicate("\n")
    with pytest.raises(ServerUnavailable):
        server.get_auth()
    thief, _ = listen(port)
    with pytest.raises(ServerUnavailable):
        server.get_auth()
    thief.communicate("\n")


def test_a_lost_server_is_looked_for_once() -> None:
    lost: list[Target] = []
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    target = Target(f"bolt://127.0.0.1:{port}", "neo4j", "x", "neo4j", pid=os.getpid())

    def find(_: StoreError, where: Target) -> Target:
        lost.append(where)
        return where

    said = r"is it running\? \(Couldn't connect to .*[^:]\)$"
    with pytest.raises(ServerUnavailable, match=said), connect(target, find):
        pass
    assert lost == [target]


@pytest.mark.parametrize(
    ("message", "kind", "said"),
    [
        (
            "The database has encountered a critical error, and needs to be restarted.",
            NeedsRestart,
            "needs to be restarted",
        ),
        (
            "Could not append transaction: T to log.",
            ServerFailed,
            r"its disk is full.*T to log",
        ),
    ],
)
def test_a_server_whose_disk_was_full_is_named(
    message: str, kind: type[StoreError], said: str
) -> None:
    error = neo4j.exceptions.Neo4jError._hydrate_neo4j(
        code="Neo.DatabaseError.Transaction.TransactionStartFailed", message=message
    )
    with pytest.raises(kind, match=rf"^bolt://h.*{said}"), _translated("bolt://h"):
        raise error


@pytest.mark.parametrize(
    "code",
    [
        "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
        "Neo.TransientError.Transaction.DeadlockDetected",
    ],
)
def test_what_another_command_makes_at_that_moment_is_tried_again(code: str) -> None:
    class Racing:
        """A database in which another command makes the indexes."""

        made: ClassVar[list[str]] = []
        looks = 0

        def read(self, _text: str, _values: object) -> tuple[object, object]:
            self.looks += 1
            return None, [[name, "ONLINE", "RANGE", None, ""] for name in self.made]

        def write_all(self, texts: list[str]) -> None:
            assert texts
            self.made.extend([*needed_statements(), *constraint_statements()])
            error = neo4j.exceptions.Neo4jError._hydrate_neo4j(
                code=code, message="there already"
            )
            with _translated("bolt://h"):
                raise error

        def run(self, text: str) -> None:
            raise AssertionError(text)

    database = Racing()
    ensure_needed(cast("Database", database))
    assert database.looks == 2


@pytest.mark.parametrize("failure", [BufferError(), ValueError()])
def test_an_interruption_is_not_replaced_by_what_fails_after_it(
    failure: Exception,
) -> None:
    def interrupted_in_a_message() -> None:
        try:
            raise interrupts.Interrupted("nothing is lost")
        finally:
            raise failure

    with (
        pytest.raises(interrupts.Interrupted, match="nothing is lost"),
        _translated("bolt://localhost"),
    ):
        interrupted_in_a_message()


WORDS = (
    "'FOREACH', 'ORDER BY', 'CALL', 'CREATE', 'LOAD CSV', 'MATCH', 'MERGE' or 'WITH'"
)


@pytest.mark.parametrize(
    ("message", "said", "line", "caret_at"),
    [
        (
            f"Invalid input 'MTCH': expected {WORDS} (line 1, column 9 (offset: 8))\n"
            '"EXPLAIN MTCH (o)"\n         ^',
            "Invalid input 'MTCH'; did you mean MATCH (line 1, column 1)",
            "MTCH (o)",
            0,
        ),
        (
            f"Invalid input 'xyz': expected {WORDS} (line 2, column 3 (offset: 19))\n"
            '"\t xyz (o)"\n   ^',
            "Invalid input 'xyz' (line 2, column 3)",
            "  xyz (o)",
            2,
        ),
        (
            "Invalid input '': expected an expression or ')' "
            f'(line 1, column 208 (offset: 207))\n"EXPLAIN {"x" * 198} ("\n ^',
            "the query ends too early: expected an expression or ')' "
            "(line 1, column 200)",
            "x" * 49 + " (",
            51,
        ),
    ],
)
def test_an_error_of_a_query_is_a_clause_and_its_place(
    message: str, said: str, line: str, caret_at: int
) -> None:
    error = query_error(message)

    assert str(error) == said
    assert error.__notes__[0].endswith(line)
    assert error.__notes__[1].index("^") == min(caret_at, 50)
    assert str(query_error("/ by zero")) == "/ by zero"
    error = query_error("Writing in read access mode not allowed. Attempted write to x")
    assert str(error) == "the query writes: only queries that read the graph are run"
