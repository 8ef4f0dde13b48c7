"""Options that several commands share, and what they open."""

from __future__ import annotations

import inspect
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.errors import (
    NO_DUMP,
    NeedsRestart,
    ServerFailed,
    ServerUnavailable,
    UnknownDump,
)
from ingest.heap.read_options import Fold, LayoutOption, ReadOptions, StrengthPolicy
from ingest.reports.render import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from ingest.database.connection import Database
    from ingest.database.dumps import ChosenDump
    from ingest.dumps import Keeper
    from ingest.errors import StoreError
    from ingest.heap.redaction import Redaction
    from ingest.progress import Progress
    from ingest.reports.about import About
    from ingest.server.embedded import EmbeddedServer
    from ingest.server.endpoint import Endpoint
    from ingest.server.target import Target
    from ingest.settings import Settings


def complete_query(incomplete: str) -> list[tuple[str, str]]:
    """Names of queries, with their titles."""
    from ingest.queries.library import library

    return [
        (query.name, query.title)
        for query in library().values()
        if query.name.startswith(incomplete)
    ]


def _complete_dump(incomplete: str) -> list[str]:
    """Names of loaded dumps; none where that would start a server."""
    from ingest.database.connection import connect
    from ingest.database.dumps import list_dumps
    from ingest.errors import IngestError
    from ingest.settings import settings

    try:
        target = running_target(settings())
        if target is None:
            return []
        with connect(target) as database:
            names = [dump.name for dump in list_dumps(database)]
    except IngestError:
        return []
    return [name for name in names if name.startswith(incomplete)]


DumpFile = Annotated[
    str, typer.Argument(metavar="DUMP", help="A heap dump; - reads standard input.")
]
DumpFiles = Annotated[
    list[str],
    typer.Argument(metavar="DUMP...", help="Heap dumps; - reads standard input."),
]
DumpName = Annotated[
    str | None,
    typer.Option(
        "--dump",
        metavar="NAME",
        help="A loaded dump. Default: the newest.",
        autocompletion=_complete_dump,
    ),
]
LoadedDump = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A loaded dump.", autocompletion=_complete_dump
    ),
]
QueryName = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.cypher|-",
        help="A query of the library, a file, or - for standard input.",
        autocompletion=complete_query,
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Reject a dump at its first irregularity.")
]
_ANY_DUMP = (
    "a file, a folder of 'ingest export', the name of a loaded dump, or FLEET::DUMP, "
    "a dump of a fleet's folder"
)
AnyDump = Annotated[
    str, typer.Argument(metavar="DUMP", help=f"{_ANY_DUMP}.".capitalize())
]
AnyDumps = Annotated[
    list[str],
    typer.Argument(
        metavar="DUMP...",
        help=f"Dumps of one program, in the order in which they were taken. Each is "
        f"{_ANY_DUMP}. A file that is named alone may have several dumps: these.",
    ),
]
FoldObjects = Annotated[
    Fold,
    typer.Option(
        "--fold",
        help="auto leaves out objects that belong to the runtime, and counts them; "
        "none loads all.",
    ),
]
Part = Annotated[
    int | None,
    typer.Option(
        "--part",
        metavar="N",
        min=0,
        help="Which heap dump to read if a file has several (info lists them): the "
        "number of the collection in a .nettrace, the index in a CLR Profiler log. "
        "Default: the first induced one of a trace, the last complete one of a log.",
    ),
]
Strength = Annotated[
    StrengthPolicy,
    typer.Option(
        "--strength",
        help="strongest: a soft, weak, finalizer or phantom reference holds what "
        "nothing stronger does. mat: it holds its target like a strong one, as in "
        "Eclipse Memory Analyzer.",
    ),
]


def _layout(text: str) -> LayoutOption:
    found = LayoutOption.parse(text)
    if found is None:
        raise typer.BadParameter(
            "HEADER/REFERENCE/ARRAY[/ALIGNMENT] in bytes, such as 12/4/16 or 16/8/24"
        )
    return found


Layout = Annotated[
    LayoutOption | None,
    typer.Option(
        "--layout",
        metavar="HEADER/REFERENCE/ARRAY[/ALIGNMENT]",
        parser=_layout,
        help="Bytes of an object's header, a reference, an array's header, for Java "
        "dumps, such as 12/4/16. Default: inferred (info shows it, and others).",
    ),
]
Own = Annotated[
    list[str] | None,
    typer.Option(
        "--own",
        metavar="PATTERN",
        help="Types that are your program's own, such as 'Acme.*', or with ! a "
        "library's, for the leak suspects. May be repeated (INGEST_OWN).",
    ),
]
Redact = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Remove all values, and names of threads, processes and files. With "
        "INGEST_SALT, texts are hashed instead: equal ones stay equal.",
    ),
]
HashTypes = Annotated[
    list[str] | None,
    typer.Option(
        "--hash-types",
        metavar="PATTERN",
        help="With --redact: types whose names are hashed, such as 'Acme.*', or with ! "
        "types whose names are kept. May be repeated. Hash your own types only: what "
        "is said of suspects depends on the runtime's.",
    ),
]
AnyExpansion = Annotated[
    bool,
    typer.Option(
        "--allow-any-expansion",
        help="Read a compressed DUMP however much its content expands.",
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory that reading and analysing may take, such as 12GiB; 0 for no "
        "limit. Default: what the machine, or its container, has left.",
    ),
]
AllDumps = Annotated[
    bool,
    typer.Option(
        "--all-dumps",
        help="Load each heap dump of a file that has several, as a dump of its own; "
        "queries can then compare them.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
Format = Annotated[
    OutputFormat,
    typer.Option(
        "--format",
        "-f",
        help="How to write the answer. csv has ' before text that a spreadsheet would "
        "compute; csv-raw, for programs, does not.",
    ),
]
Uri = Annotated[
    str | None,
    typer.Option(
        help="A Neo4j server, such as neo4j+s://HOST (NEO4J_URI). "
        "Default: the embedded server, which is started."
    ),
]
Username = Annotated[str | None, typer.Option(help="Its user (NEO4J_USERNAME).")]
Password = Annotated[
    str | None,
    typer.Option(help="Its password; NEO4J_PASSWORD is not visible to other users."),
]
DatabaseName = Annotated[
    str | None, typer.Option("--database", help="Its database (NEO4J_DATABASE).")
]


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def memory_limit(given: str | None) -> int | None:
    """Bytes that this process may occupy; ``None`` for no limit.

    Raises:
        BadParameter: ``given`` is no size.
    """
    from ingest.memory import available_bytes

    if given is None:
        return available_bytes() * 19 // 20  # others need a little too
    match = _SIZE.fullmatch(given.strip())
    if match is None:
        raise typer.BadParameter("--max-memory takes a size, such as 12GiB or 800MiB")
    power = " KMGT".index(match[2].upper() or " ")
    return int(float(match[1]) * 1024**power) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The options of all commands that open dumps."""

    strict: Strict = False
    fold: FoldObjects = Fold.AUTO
    part: Part = None
    own: Own = None
    strength: Strength = StrengthPolicy.STRONGEST
    layout: Layout = None
    redact: Redact = False
    hash_types: HashTypes = None
    max_memory: MaxMemory = None
    any_expansion: AnyExpansion = False

    def options(self, own: Iterable[str] = ()) -> ReadOptions:
        """How to read dumps.

        Args:
            own: Further patterns of the program's own types.

        Raises:
            BadParameter: options contradict one another.
        """
        from ingest.settings import settings

        return ReadOptions(
            strict=self.strict,
            fold=self.fold,
            part=self.part,
            own=(
                *settings().own.replace(",", " ").split(),
                *(self.own or ()),
                *own,
            ),
            strength=self.strength,
            layout=self.layout,
            redaction=self._redaction(settings().salt),
            max_memory_bytes=memory_limit(self.max_memory),
            any_expansion=self.any_expansion,
        )

    def _redaction(self, salt: str) -> Redaction | None:
        from ingest.heap.redaction import Redaction

        if not self.redact:
            if self.hash_types:
                raise typer.BadParameter("needs --redact", param_hint="--hash-types")
            return None
        return Redaction(tuple(self.hash_types or ()), salt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The options of all commands that need a database."""

    uri: Uri = None
    username: Username = None
    password: Password = None
    database: DatabaseName = None

    @contextmanager
    def open(self, progress: Progress, *, for_dumps: bool = True) -> Iterator[Database]:
        """The database; see `open_store`."""
        with self.open_store(progress, for_dumps=for_dumps) as (opened, _):
            yield opened

    def open_store(
        self, progress: Progress, *, for_dumps: bool = True
    ) -> AbstractContextManager[tuple[Database, EmbeddedServer | None]]:
        """The database that the options name, or the embedded one; and its server."""
        return open_store(
            self.uri,
            self.username,
            self.password,
            self.database,
            progress,
            for_dumps=for_dumps,
        )


@contextmanager
def keepers_of(connection: Connection, progress: Progress) -> Iterator[list[Keeper]]:
    """Who keeps dumps: fleets, and the database, which is opened when it is asked."""
    from contextlib import ExitStack

    from ingest.database.kept import LoadedDumps
    from ingest.fleet.stored import KeptByFleets

    with ExitStack() as stack:

        def opened() -> tuple[Database, EmbeddedServer | None]:
            return stack.enter_context(connection.open_store(progress))

        yield [KeptByFleets(), LoadedDumps(opened)]


_GROUPS: tuple[type, ...] = (Reading, Connection)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """A command, with each option of its groups as a parameter of its own.

    So an option is declared once, in its group, for all commands that have the group.
    """
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for name, parameter in signature.parameters.items():
        if parameter.annotation not in _GROUPS:
            parameters.append(parameter)
            continue
        groups[name] = parameter.annotation
        parameters += inspect.signature(
            parameter.annotation, eval_str=True
        ).parameters.values()
    if not groups:
        return command

    @wraps(command)
    def run(**given: object) -> None:
        made = {
            name: group(**{one: given.pop(one) for one in group.__slots__})  # type: ignore[attr-defined]
            for name, group in groups.items()
        }
        command(**given, **made)

    shown = signature.replace(
        parameters=[
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters
        ]
    )
    vars(run).pop("__wrapped__")
    vars(run)["__signature__"] = shown
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _own_target(
    settings: Settings,
    uri: str | None,
    username: str | None,
    password: str | None,
    database: str | None,
) -> Target | None:
    """The user's own server, if they named one."""
    from ingest.server.target import Target

    address = uri or settings.uri
    if not address:
        return None
    return Target(
        address,
        username or settings.username,
        password if password is not None else settings.password,
        database or settings.database,
    )


def running_target(settings: Settings) -> Target | None:
    """The user's own server, or the embedded one if it runs already."""
    from ingest.server.embedded import EmbeddedServer, target_of

    if own := _own_target(settings, None, None, None, None):
        return own
    endpoint = EmbeddedServer(settings).running()
    return None if endpoint is None else target_of(endpoint)


def about_of(selection: ChosenDump, *, is_of_one: bool = True) -> About:
    """What an answer says of the dump that it is about."""
    from ingest.reports.about import About

    dump = selection.dump
    return About(
        dump.name if is_of_one else None,
        dump.number if is_of_one else None,
        selection.loaded_count,
        selection.is_newest,
    )


@contextmanager
def open_store(
    uri: str | None,
    username: str | None,
    password: str | None,
    database: str | None,
    progress: Progress,
    *,
    for_dumps: bool = True,
) -> Iterator[tuple[Database, EmbeddedServer | None]]:
    """The database the options name; without any, the embedded one, started.

    Yields:
        The database; and the server, if it is the embedded one.

    Raises:
        StoreError: it cannot be opened.
        EmbeddedError: the embedded one cannot be fetched or started.
        UnknownDump: ``for_dumps`` is set, and the embedded one was never started:
            no server is started to find that it has no dump.
    """
    from ingest.server.embedded import DATABASE, EmbeddedServer, target_of
    from ingest.settings import settings

    known, server = settings(), None
    target = _own_target(known, uri, username, password, database)
    if target is None:
        server = EmbeddedServer(known)
        if for_dumps and not server.has_database():
            raise UnknownDump(NO_DUMP)
        target = target_of(server.start(progress), database or DATABASE)
    from ingest.database.connection import connect

    def find(error: StoreError, lost: Target) -> Target:
        assert server is not None
        endpoint = _started_again(server, error, lost, progress)
        return target_of(endpoint, database or DATABASE)

    with (
        _full_disk_explained(server),
        connect(target, None if server is None else find) as opened,
    ):
        yield opened, server


def _started_again(
    server: EmbeddedServer, error: StoreError, lost: Target, progress: Progress
) -> Endpoint:
    """The embedded server, which has ended or does nothing any more."""
    if not isinstance(error, NeedsRestart):
        return server.start(progress)
    endpoint = server.restart(lost.pid, progress)
    typer.echo("Neo4j had met a critical error and has been restarted", err=True)
    return endpoint


@contextmanager
def _full_disk_explained(server: EmbeddedServer | None) -> Iterator[None]:
    """Say of an error of the embedded server that its disk is full, where it is."""
    from ingest.server.console import full_disk, is_full

    try:
        yield
    except (ServerFailed, ServerUnavailable) as error:
        if server is not None and is_full(server.home):
            raise full_disk(server.home) from error
        raise
