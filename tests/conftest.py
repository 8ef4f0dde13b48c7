"""Where tests keep their files, and where their Neo4j comes from.

``INGEST_TEST_NEO4J`` chooses one of three providers by name; none is guessed:

- ``embedded`` (the default): the tool's own server, with a fresh state;
- ``testcontainers``: a container of ``INGEST_TEST_IMAGE``;
- ``uri``: the server at ``NEO4J_TEST_URI`` (with ``NEO4J_TEST_USERNAME`` and
  ``NEO4J_TEST_PASSWORD``). It is emptied.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.progress import silent
from ingest.server.launch import archive_flags
from ingest.system.places import places
from tests.deep import runs
from tests.quick import QUICK, quick_configuration, quick_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ingest.database.connection import Database
    from ingest.server.target import Target

pytest_plugins = ["tests.inherited", "tests.sharing", "tests.summary"]

CHECKOUT = Path(__file__).parents[1]
TEST_CACHE = CHECKOUT / ".test-cache"
"""Jars and kernels outlive a run; the user's own cache is never written to."""
try:
    _USERS_JARS = places().cache / "maven"
except OSError:  # a user without a home
    _USERS_JARS = TEST_CACHE / "maven"

for _name in ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
    os.environ.pop(_name, None)
os.environ["INGEST_HOME"] = str(TEST_CACHE / "home")
# Processes of tests run this checkout, whichever is installed.
os.environ["PYTHONPATH"] = str(CHECKOUT)
# Kernels are compiled into a folder that every test's own home shares.
os.environ["NUMBA_CACHE_DIR"] = str(TEST_CACHE / "kernels")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out what this run has not.

    A test marked ``slow(every=5)`` is slow but for every fifth of its parameters.
    """
    had: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    seen: Counter[str] = Counter()
    for item in items:
        marks = {mark.name: mark for mark in item.iter_markers()}
        every = marks["slow"].kwargs.get("every") if "slow" in marks else None
        function = item.nodeid.partition("[")[0]
        if every and seen[function] % every == 0:
            del marks["slow"]
        seen[function] += "deep" not in marks
        (had if runs(marks) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = had


def share_jars(home: Path) -> None:
    """Give ``home`` the jars of the tests' cache, and that those of the user."""
    jars = TEST_CACHE / "maven"
    jars.mkdir(parents=True, exist_ok=True)
    for jar in _USERS_JARS.rglob("*.jar"):
        mine = jars / jar.relative_to(_USERS_JARS)
        if not mine.exists():
            mine.parent.mkdir(parents=True, exist_ok=True)
            copy = mine.with_suffix(f".{os.getpid()}.copy")
            shutil.copy2(jar, copy)
            copy.replace(mine)
    (home / "cache").mkdir(parents=True, exist_ok=True)
    (TEST_CACHE / "classes").mkdir(exist_ok=True)
    for name in ("maven", "classes"):
        link = home / "cache" / name
        if not link.exists():
            link.symlink_to(TEST_CACHE / name, target_is_directory=True)


def take_any_ports(patch: pytest.MonkeyPatch) -> None:
    """A server of another run may be about to take the usual ports."""
    patch.setattr("ingest.server.embedded._BOLT_PORT", 0)
    patch.setattr("ingest.server.embedded._HTTP_PORT", 0)


def start_quickly(patch: pytest.MonkeyPatch) -> None:
    """A compiler that optimises does not pay for itself in one short run."""
    patch.setattr("ingest.server.embedded.jvm_flags", quick_flags)
    patch.setattr("ingest.server.embedded.configuration", quick_configuration)
    patch.setattr("ingest.database.importer.archive_flags", _read_archives)


Ran = tuple[int, str, str]
"""Exit code, standard output and standard error of a command."""


def embedded_only(reason: str) -> pytest.MarkDecorator:
    """Skips what another provider's server cannot do."""
    provider = os.environ.get("INGEST_TEST_NEO4J", "embedded")
    return pytest.mark.skipif(provider != "embedded", reason=reason)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, so that it never touches the user's."""
    folder = tmp_path / "home"
    monkeypatch.setenv("INGEST_HOME", str(folder))
    return folder


@pytest.fixture
def ingest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """Run the command line; returns exit code, stdout and stderr.

    Whether a kernel happens to be compiled is not said: that is tested elsewhere.
    """
    from ingest.cli import main

    monkeypatch.setattr("ingest.cli.CompilationNotice", lambda: lambda _: None)

    def run(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return run


def use_server(patch: pytest.MonkeyPatch, target: Target) -> None:
    """Have commands connect to ``target``."""
    patch.setenv("NEO4J_URI", target.uri)
    patch.setenv("NEO4J_USERNAME", target.username)
    patch.setenv("NEO4J_PASSWORD", target.password or "")


@pytest.fixture
def on_server(
    neo4j_target: Target,
    monkeypatch: pytest.MonkeyPatch,
    ingest: Callable[..., Ran],
) -> Callable[..., Ran]:
    """Run the command line against the server of the session."""
    use_server(monkeypatch, neo4j_target)
    return ingest


@pytest.fixture(scope="session")
def neo4j_target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A real Neo4j for the whole session, from the provider that was asked for."""
    provider = os.environ.get("INGEST_TEST_NEO4J", "embedded")
    if provider == "embedded":
        yield from _embedded(tmp_path_factory.mktemp("server"))
    elif provider == "testcontainers":
        yield from _container()
    elif provider == "uri":
        yield _given()
    else:
        pytest.fail(f"INGEST_TEST_NEO4J={provider}: not embedded, testcontainers, uri")


def _embedded(folder: Path) -> Iterator[Target]:
    from ingest.server.embedded import EmbeddedServer
    from ingest.server.target import Target
    from ingest.system.settings import settings
    from tests.summary import note_use

    share_jars(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGEST_HOME", str(folder))
        take_any_ports(patch)
        patch.setenv("INGEST_NEO4J_HEAP_MIB", "1024")
        start_quickly(patch)
        patch.setattr("ingest.server.embedded.archive_flags", _read_archives)
        server = EmbeddedServer(settings())
        endpoint = server.start(silent)
        note_use(f"Neo4j {settings().neo4j_version}")
    yield Target(
        endpoint.bolt_uri,
        endpoint.username,
        endpoint.password,
        "neo4j",
        endpoint.http_url,
    )
    server.stop(silent)


def _read_archives(
    java: Path, jars: Sequence[Path], _pending: Path | None = None
) -> list[str]:
    return [*archive_flags(java, jars), QUICK]


def _container() -> Iterator[Target]:
    from testcontainers.community.neo4j import Neo4jContainer

    from ingest.server.target import Target
    from tests.summary import note_use

    image = os.environ.get("INGEST_TEST_IMAGE", "neo4j:5.26.31")
    password = "only-for-tests"
    container = Neo4jContainer(image, password=password)
    # Its heap is small. Without a limit a test of a query that needs all of it would
    # leave the server too busy to answer the next test.
    container.with_env("NEO4J_db_memory_transaction_max", "200m")
    with container:
        note_use(f"Neo4j of {image}")
        yield Target(container.get_connection_url(), "neo4j", password, "neo4j")


def _given() -> Target:
    from ingest.server.target import Target
    from tests.summary import note_use

    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.fail("two processes would empty the same server: add -n 0")
    note_use("Neo4j at NEO4J_TEST_URI")
    return Target(
        os.environ["NEO4J_TEST_URI"],
        os.environ.get("NEO4J_TEST_USERNAME", "neo4j"),
        os.environ.get("NEO4J_TEST_PASSWORD"),
        "neo4j",
    )


@pytest.fixture(scope="session")
def database(neo4j_target: Target) -> Iterator[Database]:
    """The server's database, open, with the schema in place."""
    from ingest.database.connection import connect
    from ingest.database.indexes import ensure_needed

    with connect(neo4j_target) as opened:
        ensure_needed(opened)
        yield opened


@pytest.fixture
def empty_database(database: Database) -> Database:
    """The same with nothing in it.

    What the test before it dropped may be being removed: two that remove the same nodes
    can wait for one another, of which the server refuses one.
    """
    from ingest.errors import InTheWay

    rows = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS"
    for tries_left in range(9, -1, -1):
        try:
            database.run(rows)
            break
        except InTheWay:
            if not tries_left:
                raise
            time.sleep(0.5)
    return database
