"""Options that several commands share, and what they open."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.heap.read_options import Fold, LayoutOption, StrengthPolicy
from ingest.reports.render import OutputFormat

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ingest.database.dump_list import ChosenDump
    from ingest.database.store import Store
    from ingest.heap.redaction import Redaction
    from ingest.progress import Progress
    from ingest.reports.about import About


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
    from ingest.database.dump_list import list_dumps
    from ingest.database.store import running_target
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
AnyDump = Annotated[
    str,
    typer.Argument(
        metavar="DUMP",
        help="A heap dump, a folder of 'ingest export', or the name of a dump that "
        "the embedded server has.",
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
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Read a compressed DUMP however much its content expands."
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


def own_types(given: list[str] | None) -> tuple[str, ...]:
    """Patterns of the program's own types: the settings', then those given."""
    from ingest.settings import settings

    return (*settings().own.replace(",", " ").split(), *(given or ()))


def redaction_of(redact: bool, hash_types: list[str] | None) -> Redaction | None:
    """What to remove from a dump; ``None`` for nothing.

    Raises:
        BadParameter: Types are to be hashed of a dump that is not to be redacted.
    """
    from ingest.heap.redaction import Redaction
    from ingest.settings import settings

    if not redact:
        if hash_types:
            raise typer.BadParameter("needs --redact", param_hint="--hash-types")
        return None
    return Redaction(tuple(hash_types or ()), settings().salt)


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


def open_store(
    uri: str | None,
    username: str | None,
    password: str | None,
    database: str | None,
    progress: Progress,
    *,
    for_dumps: bool = True,
) -> AbstractContextManager[Store]:
    """The store that the options name; see `Store.open`."""
    from ingest.database.store import Store

    return Store.open(
        uri,
        username,
        password,
        database,
        progress,
        for_dumps=for_dumps,
        on_notice=partial(typer.echo, err=True),
    )
