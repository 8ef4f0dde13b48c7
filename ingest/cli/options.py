"""Options that several commands share, and what they open."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.arrays.spill import AUTO
from ingest.cli.panels import OptionPanel
from ingest.errors import UnknownDump
from ingest.heap.read_options import Fold, LayoutOption, ReadOptions, StrengthPolicy
from ingest.reports.about import From
from ingest.reports.render import OutputFormat
from ingest.system.files import check_writable, output_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from ingest.api.asked import Asked
    from ingest.api.reading import ReadingOptions
    from ingest.database.store import Store
    from ingest.dumps import Keeper
    from ingest.progress import Progress


@contextmanager
def usage_errors() -> Iterator[None]:
    """Report wrong parameters of the interface as wrong usage."""
    from ingest.errors import BadParameter

    try:
        yield
    except BadParameter as error:
        raise typer.BadParameter(str(error)) from None


def complete_query(incomplete: str) -> list[tuple[str, str]]:
    """Names of queries, with their titles."""
    from ingest.queries.library import library

    return [
        (query.name, query.title)
        for query in library().values()
        if query.name.startswith(incomplete)
    ]


def _complete_dump(incomplete: str) -> list[str]:
    """Names of loaded dumps; none if that would start a server."""
    from ingest.database.connection import connect
    from ingest.database.dump_list import list_dumps
    from ingest.database.store import running_target
    from ingest.errors import IngestError
    from ingest.system.settings import settings

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
InFile = Annotated[
    str | None,
    typer.Option(
        "--in",
        metavar="DUMP",
        help="Answer from a file, or a folder of 'ingest export', without a server. "
        "Options of reading are for it.",
    ),
]
AnsweredFrom = Annotated[
    From | None,
    typer.Option(
        "--from",
        help="Ask Neo4j, or the tables that it has stored: the default for large "
        "dumps, unless their graph was changed.",
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
    bool,
    typer.Option(
        "--strict",
        help="Reject a dump at its first irregularity.",
        rich_help_panel=OptionPanel.READING,
    ),
]
_ANY_DUMP = (
    "a file, a folder of 'ingest export', the name of a loaded dump, or DIR::DUMP, "
    "a dump of the fleet in DIR"
)
AnyDump = Annotated[
    str, typer.Argument(metavar="DUMP", help=f"{_ANY_DUMP}.".capitalize())
]
AnyDumps = Annotated[
    list[str],
    typer.Argument(
        metavar="DUMP...",
        help=f"Dumps of one program, in the order in which they were taken. Each is "
        f"{_ANY_DUMP}. A single file stands for all dumps in it.",
    ),
]
FoldObjects = Annotated[
    Fold,
    typer.Option(
        "--fold",
        help="auto leaves out objects that belong to the runtime, and counts them; "
        "none loads all.",
        rich_help_panel=OptionPanel.READING,
    ),
]
Part = Annotated[
    int | None,
    typer.Option(
        "--part",
        metavar="N",
        min=0,
        help="Which heap dump to read if a file has several (info lists them): in a "
        ".nettrace the number of its collection, in a CLR Profiler log its index. "
        "Default: the first induced one of a trace, the last complete one of a log.",
        rich_help_panel=OptionPanel.READING,
    ),
]
Strength = Annotated[
    StrengthPolicy,
    typer.Option(
        "--strength",
        help="strongest: a soft, weak, finalizer or phantom reference keeps its "
        "target alive only if no stronger one does. mat: it counts as strong, as in "
        "Eclipse Memory Analyzer.",
        rich_help_panel=OptionPanel.SUSPECTS,
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
        "dumps, such as 12/4/16. Default: inferred (info shows it, and alternatives).",
        rich_help_panel=OptionPanel.READING,
    ),
]


Mapping = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Original names of classes, fields and frames that R8 or ProGuard has "
        "shortened: the mapping of this build, for Java and Android dumps.",
        rich_help_panel=OptionPanel.READING,
    ),
]

SourceMapPath = Annotated[
    str | None,
    typer.Option(
        "--source-map",
        metavar="FILE|DIR",
        help="Original names and places of functions and classes in scripts that were "
        "bundled or minified: the source maps of this build, for V8 snapshots.",
        rich_help_panel=OptionPanel.READING,
    ),
]


def _runtime(text: str) -> str:
    from ingest.runtimes import RUNTIMES

    known = [one.name for one in RUNTIMES]
    if text not in known:
        raise typer.BadParameter(f"one of {', '.join(known)}")
    return text


Runtime = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        parser=_runtime,
        help="Runtime of the program, such as dotnet, jvm or dart. Default: "
        "recognised by the format and the types.",
        rich_help_panel=OptionPanel.SUSPECTS,
    ),
]
Own = Annotated[
    list[str] | None,
    typer.Option(
        "--own",
        metavar="PATTERN",
        help="Types of your own program, such as 'Acme.*', or with ! of a "
        "library: leak suspects depend on it. May be repeated (INGEST_OWN).",
        rich_help_panel=OptionPanel.SUSPECTS,
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--values",
        metavar="PATTERN",
        help="Types whose objects keep what their fields hold: numbers, booleans, enum "
        "constants, such as 'Shop*.Task'. In the graph they are properties named "
        "field_NAME. May be repeated.",
        rich_help_panel=OptionPanel.READING,
    ),
]
Redact = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Remove all values, and names of threads, processes and files. With "
        "INGEST_SALT, texts are hashed instead: equal ones stay equal.",
        rich_help_panel=OptionPanel.READING,
    ),
]
HashTypes = Annotated[
    list[str] | None,
    typer.Option(
        "--hash-types",
        metavar="PATTERN",
        help="With --redact: types whose names are hashed, such as 'Acme.*', or with ! "
        "types whose names are kept. May be repeated. Hash your own types only: "
        "suspects are found by the names of the runtime's types.",
        rich_help_panel=OptionPanel.READING,
    ),
]
AnyExpansion = Annotated[
    bool,
    typer.Option(
        "--allow-any-expansion",
        help="Read a compressed DUMP however large its content is.",
        rich_help_panel=OptionPanel.READING,
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Maximum memory for reading and analysing, such as 12GiB; 0 for no "
        "limit. Default: the free memory of the machine or container.",
        rich_help_panel=OptionPanel.MEMORY,
    ),
]
Spill = Annotated[
    str,
    typer.Option(
        metavar="DIR",
        help="Folder for the columns of a dump that needs more memory, which takes "
        "longer, and for those of a large dump that are not used for a while; nothing "
        "is left there. auto: that of temporary files, if its disk has room. none: no "
        "files; refuse a dump that needs more.",
        rich_help_panel=OptionPanel.MEMORY,
    ),
]
AllDumps = Annotated[
    bool,
    typer.Option(
        "--all-dumps",
        help="If the file has several heap dumps, load each as a dump of its own; "
        "queries can then compare them.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]
Format = Annotated[
    OutputFormat,
    typer.Option(
        "--format",
        "-f",
        help="Output format. csv-raw is for programs; csv has ' before text that a "
        "spreadsheet would read as a formula.",
    ),
]
Uri = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="A Neo4j server, such as neo4j+s://HOST (NEO4J_URI). "
        "Default: the embedded server, started if needed.",
        rich_help_panel=OptionPanel.SERVER,
    ),
]
Username = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="User name on the server (NEO4J_USERNAME).",
        rich_help_panel=OptionPanel.SERVER,
    ),
]
Password = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Password on the server. Prefer NEO4J_PASSWORD: other users can see an "
        "option.",
        rich_help_panel=OptionPanel.SERVER,
    ),
]
DatabaseName = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="NAME",
        help="Database on the server (NEO4J_DATABASE).",
        rich_help_panel=OptionPanel.SERVER,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The options of all commands that open dumps."""

    strict: Strict = False
    fold: FoldObjects = Fold.AUTO
    part: Part = None
    own: Own = None
    strength: Strength = StrengthPolicy.STRONGEST
    layout: Layout = None
    mapping: Mapping = None
    source_map: SourceMapPath = None
    runtime: Runtime = None
    values: Values = None
    redact: Redact = False
    hash_types: HashTypes = None
    max_memory: MaxMemory = None
    spill: Spill = AUTO
    any_expansion: AnyExpansion = False

    def given(self) -> ReadingOptions:
        """The options, as the functions of `ingest.api` take them.

        Raises:
            BadParameter: an option is mistyped, or two contradict each other.
        """
        from ingest.api.reading import ReadingOptions, read_options

        found = ReadingOptions(
            strict=self.strict,
            fold=self.fold,
            part=self.part,
            own=self.own or (),
            strength=self.strength,
            layout=self.layout,
            mapping=self.mapping,
            source_map=self.source_map,
            runtime=self.runtime,
            values=self.values or (),
            redact=self.redact,
            hash_types=self.hash_types or (),
            max_memory=self.max_memory,
            spill=self.spill,
            any_expansion=self.any_expansion,
        )
        with usage_errors():
            read_options(found)
        return found

    def options(self) -> ReadOptions:
        """How to read dumps.

        Raises:
            BadParameter: see `given`.
        """
        from ingest.api.reading import read_options

        return read_options(self.given())


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The options of all commands that need a database."""

    uri: Uri = None
    username: Username = None
    password: Password = None
    database: DatabaseName = None

    def open(
        self, progress: Progress, *, for_dumps: bool = True
    ) -> AbstractContextManager[Store]:
        """The store that the options name; see `Store.open`."""
        from ingest.database.store import Store

        return Store.open(
            self.uri,
            self.username,
            self.password,
            self.database,
            progress,
            for_dumps=for_dumps,
            on_notice=partial(typer.echo, err=True),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The options of all commands that write a report, or a page."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file.")
    ] = None
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write an HTML page to this file."),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False
    as_json: AsJson = False

    @property
    def _file(self) -> Path | None:
        return self.output if self.html is None else self.html

    def check(self) -> None:
        """Refuse options that contradict one another, before work is done for them.

        Raises:
            BadParameter: a page and another output are requested.
            IngestError: the file exists and must not be overwritten.
        """
        if self.html is not None and (self.output is not None or self.as_json):
            raise typer.BadParameter(
                "cannot be used with --output or --json", param_hint="--html"
            )
        if self._file is not None:
            check_writable(self._file, force=self.force)

    def write(self, text: str) -> None:
        """Write to the file, or to standard output."""
        if self._file is None:
            typer.echo(text, nl=False)
        else:
            write_file(self._file, text)


@contextmanager
def keepers_of(connection: Connection, progress: Progress) -> Iterator[list[Keeper]]:
    """Keepers of dumps: fleets, and the database, which is opened when needed."""
    from contextlib import ExitStack

    from ingest.database.loaded_dumps import LoadedDumps
    from ingest.fleet.stored import KeptByFleets

    with ExitStack() as stack:
        yield [
            KeptByFleets(),
            LoadedDumps(lambda: stack.enter_context(connection.open(progress))),
        ]


@contextmanager
def asked_dump(
    dump: str | None,
    in_file: str | None,
    reading: Reading,
    connection: Connection,
    progress: Progress,
    meanwhile: Callable[[], None] = lambda: None,
    source: From | None = None,
) -> Iterator[Asked]:
    """The dump that the options name: a file, or a loaded one.

    Args:
        dump: The name of a loaded dump.
        in_file: A file.
        reading: How to read it.
        connection: How to connect.
        progress: Receives all stages.
        meanwhile: What can be done while the server is asked for its dumps.
        source: What shall answer of a loaded dump.

    Raises:
        BadParameter: both are named, or options of reading are given without a file.
    """
    from ingest.api.asked import AskedFile, AskedStore
    from ingest.system.memory import beside

    if in_file is None:
        if reading != Reading():
            raise typer.BadParameter("options of reading a dump need --in DUMP")
        with naming_files(), connection.open(progress) as store:
            with beside(lambda: store.select(dump)) as chosen:
                meanwhile()
            yield AskedStore(store, chosen(), progress, source)
        return
    if source is not None:
        raise typer.BadParameter("cannot be used with --in", param_hint="--from")
    if dump is not None:
        raise typer.BadParameter("cannot be used with --in", param_hint="--dump")
    from ingest.answers.asking import OpenedDump
    from ingest.api.reading import opened

    yield AskedFile(OpenedDump(opened(in_file, reading.given(), progress)), progress)


@contextmanager
def naming_files(*, does: bool = True) -> Iterator[None]:
    """Add to the error that no dump is loaded that a file can answer.

    Args:
        does: Whether it can.
    """
    from ingest.database.dump_list import NO_DUMP

    try:
        yield
    except UnknownDump as error:
        if does and str(error) == NO_DUMP:
            raise UnknownDump(f"{error}; or ask a file: --in FILE") from None
        raise


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """A command that has each option of its groups as a parameter.

    A group is a dataclass, so an option is declared once for all commands that have it.
    """
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for name, parameter in signature.parameters.items():
        group = parameter.annotation
        if not (isinstance(group, type) and is_dataclass(group)):
            parameters.append(parameter)
            continue
        groups[name] = group
        parameters += inspect.signature(group, eval_str=True).parameters.values()
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


def notify(notice: str) -> None:
    """Say next to an answer that it is about another name than the one written."""
    if notice:
        typer.echo(notice, err=True)


def write_file(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, replacing an existing file, and report it.

    Raises:
        IngestError: it cannot be written.
    """
    with output_file(path, force=True, private=False) as file:
        file.write(text.encode())
    typer.echo(f"wrote {path}")
