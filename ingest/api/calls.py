"""The commands ``compare``, ``check``, ``export`` and ``capture`` as functions."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ingest.api.reading import ReadingOptions, keepers_for, read_options
from ingest.dumps import Opener
from ingest.errors import BadParameter
from ingest.progress import silent

if TYPE_CHECKING:
    import polars as pl

    from ingest.capture import Captured
    from ingest.capture.capturers import CaptureOptions
    from ingest.compare.changes import Comparison
    from ingest.compare.dimensions import Dimension
    from ingest.compare.dumps import ComparedDump
    from ingest.dumps import Keeper
    from ingest.gate.findings import Finding
    from ingest.progress import Progress
    from ingest.reports.findings import Verdict
    from ingest.tables.export_format import ExportFormat
    from ingest.tables.heap_tables import HeapTables

_TOP = 10


# ---------------------------------------------------------------- compare


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What changed between dumps; ``str`` of it is the text of ``ingest compare``.

    Attributes:
        comparison: All changes; see `ingest.compare.changes.Comparison`.
    """

    comparison: Comparison

    def text(self, by: Sequence[Dimension | str] = (), top: int = _TOP) -> str:
        """The changes as text.

        Args:
            by: Dimensions, such as ``type`` or ``suspect``; all by default.
            top: The most entries of each section.
        """
        from ingest.reports import comparison as written

        return written.as_text(self.comparison, _dimensions(by), top)

    def markdown(self, by: Sequence[Dimension | str] = (), top: int = _TOP) -> str:
        """The changes as Markdown."""
        from ingest.reports import comparison as written

        return written.as_markdown(self.comparison, _dimensions(by), top)

    def facts(self, by: Sequence[Dimension | str] = ()) -> dict[str, object]:
        """All changes as values for JSON."""
        from ingest.reports import comparison as written

        return written.as_json(self.comparison, _dimensions(by))

    def rows(self, by: Sequence[Dimension | str] = ()) -> list[dict[str, object]]:
        """All changes, one row each."""
        from ingest.reports import comparison as written

        return written.as_rows(self.comparison, _dimensions(by))

    def frame(self, by: Sequence[Dimension | str] = ()) -> pl.DataFrame:
        """`rows` as a Polars frame; counts and bytes are lists, one value a dump."""
        import polars as pl

        return pl.DataFrame(self.rows(by), strict=False, infer_schema_length=None)

    def page(self, by: Sequence[Dimension | str] = (), top: int = _TOP) -> str:
        """The changes as a page."""
        from ingest.reports.comparison_page import comparison_page

        return comparison_page(self.comparison, _dimensions(by), top)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from ingest.reports.notebook import framed

        return framed(self.page(), 760)


def _dimensions(by: Sequence[Dimension | str]) -> list[Dimension]:
    from ingest.compare.dimensions import Dimension

    try:
        return list(dict.fromkeys(map(Dimension, by or Dimension)))
    except ValueError as error:
        known = ", ".join(Dimension)
        raise BadParameter(f"{error}; dimensions are {known}") from None


def compare(
    *dumps: str, progress: Progress = silent, **reading: Unpack[ReadingOptions]
) -> Compared:
    """Compare dumps of one program: what is new, gone or grown.

    Args:
        dumps: Dumps in the order in which they were taken, as `ingest.open` takes them.
            A single file stands for all dumps in it.
        progress: Called with stage, units done, and their number or ``None``.
        reading: Options; see `ingest.api.reading.ReadingOptions`.

    Raises:
        DumpError: a dump cannot be read.
        BadParameter: there is only one.

    Example:
        >>> changes = ingest.compare("earlier.gclog", "example.gclog")
        >>> str(changes).splitlines()[0]
        'Grew most from earlier to example'
        >>> changes.frame(["type"]).height > 10
        True
    """
    return compared(dumps, reading, progress)


def compared(
    dumps: Sequence[str],
    reading: ReadingOptions,
    progress: Progress = silent,
    keepers: Sequence[Keeper] | None = None,
) -> Compared:
    """Like `compare`, also for dumps that ``keepers`` know."""
    from ingest.compare.changes import compare as compute
    from ingest.compare.dumps import with_objects_at_the_ends

    named = [str(dump) for dump in dumps]
    if not named:
        raise BadParameter("no dump is named; name two of one program")
    opener = Opener(
        options=read_options(reading),
        keepers=keepers_for(named) if keepers is None else keepers,
        origins=len(named) == 1,
        progress=progress,
    )
    found = with_objects_at_the_ends(opener.open_all(named))
    if len(found) < 2:
        raise BadParameter("one dump cannot be compared; name a second one")
    return Compared(compute(found))


# ---------------------------------------------------------------- check


class Check:
    """The verdict on some dumps; ``str`` of it is the text of ``ingest check``.

    Args:
        verdict: The findings, compared with the baseline.
    """

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    @property
    def findings(self) -> GateFindings:
        """New findings: growth in every dump, suspects, what the rules forbid."""
        return GateFindings(self.verdict.compared.new, self)

    @property
    def is_clean(self) -> bool:
        """Whether the dumps are complete, and there is no finding."""
        return self.verdict.is_clean

    @property
    def is_conclusive(self) -> bool:
        """Whether all dumps are complete, so that the findings prove something."""
        return self.verdict.is_conclusive

    def written(
        self,
        form: Literal["text", "markdown", "json", "sarif", "junit", "github"] = "text",
    ) -> str:
        """The verdict in an output format."""
        from ingest.reports import findings

        return {
            "text": findings.as_text,
            "markdown": findings.as_markdown,
            "json": findings.as_json,
            "sarif": findings.as_sarif,
            "junit": findings.as_junit,
            "github": findings.as_annotations,
        }[form](self.verdict)

    def __str__(self) -> str:
        return self.written()


class GateFindings(Sequence["Finding"]):
    """Findings of a check; ``repr`` says what leaks, for an assertion that fails."""

    def __init__(self, found: Sequence[Finding], check: Check) -> None:
        self._found = found
        self._check = check

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401
        return self._found[at]

    def __len__(self) -> int:
        return len(self._found)

    def __bool__(self) -> bool:
        # No findings in an incomplete dump prove nothing.
        return bool(self._found) or not self._check.is_conclusive

    def __repr__(self) -> str:
        verdict = self._check.verdict
        first = f" First: {self._found[0].message}" if self._found else ""
        # An assertion shows only one line, and cuts it.
        return f"<{verdict.headline}{first}>"


def check(
    dumps: Sequence[str] | str,
    *,
    against: Sequence[str] = (),
    baseline: str | Path | None = None,
    config: str | Path | None = None,
    strict_baseline: bool = False,
    min_dumps: int = 1,
    allow_incomplete: bool = False,
    progress: Progress = silent,
    **reading: Unpack[ReadingOptions],
) -> Check:
    """Judge dumps of a program: does it leak?

    ``assert not ingest.check([before, after]).findings`` fails with what grew, where,
    and an example with addresses. Dumps that are incomplete fail it too.

    Args:
        dumps: In the order in which they were taken.
        against: Dumps of a reference; what they also have is no finding.
        baseline: File of known findings; ``heaproots-baseline.toml`` if it exists.
        config: File of rules; ``heaproots.toml`` or ``pyproject.toml`` by default.
        strict_baseline: Whether entries of the baseline that no longer occur fail.
        min_dumps: Refuse to judge fewer.
        allow_incomplete: Whether incomplete dumps may be judged.
        progress: Called with stage, units done, and their number or ``None``.
        reading: Options; see `ingest.api.reading.ReadingOptions`.

    Raises:
        DumpError: a dump cannot be read.
        BadParameter: there are fewer than ``min_dumps``.

    Example:
        >>> found = ingest.check(["earlier.gclog", "example.gclog"]).findings
        >>> found[0].path[-1], found[0].counts
        ('LevelScreen', (12, 24))
    """
    named = [dumps] if isinstance(dumps, str) else [str(dump) for dump in dumps]
    given = CheckOptions(
        against=[str(dump) for dump in against],
        baseline=None if baseline is None else Path(baseline),
        config=None if config is None else Path(config),
        strict_baseline=strict_baseline,
        min_dumps=min_dumps,
        allow_incomplete=allow_incomplete,
    )
    return judged(named, given, reading, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """How dumps are judged; see `check`.

    Attributes:
        update_baseline: Add the findings to the baseline.
        prune: Remove from the baseline what no longer occurs.
    """

    against: Sequence[str] = ()
    baseline: Path | None = None
    update_baseline: bool = False
    prune: bool = False
    strict_baseline: bool = False
    config: Path | None = None
    min_dumps: int = 1
    allow_incomplete: bool = False


def judged(
    dumps: Sequence[str],
    given: CheckOptions,
    reading: ReadingOptions,
    progress: Progress = silent,
    keepers: Sequence[Keeper] | None = None,
) -> Check:
    """As `check`, also of dumps that ``keepers`` know; it can change the baseline."""
    from ingest.gate import baseline as known_findings
    from ingest.gate.findings import judge
    from ingest.gate.places import with_examples
    from ingest.gate.rules import find_rules
    from ingest.reports.findings import Verdict

    rules = find_rules(Path(), given.config)
    file = given.baseline or Path(known_findings.DEFAULT_NAME)
    known = {}
    if file.exists() or (given.baseline is not None and not given.update_baseline):
        known = known_findings.read_baseline(file, prune=given.prune)
    options = read_options(reading, rules.own)
    redaction = options.redaction
    if redaction is not None and redaction.types and not redaction.salt:
        raise BadParameter(
            "--hash-types (hash_types) needs INGEST_SALT here, because names must be "
            "the same in every dump"
        )
    if keepers is None:
        keepers = keepers_for([*given.against, *dumps])
    opener = Opener(options=options, keepers=keepers, progress=progress)
    reference = _kept_of(given.against, opener)[0]
    found, last = _kept_of(dumps, opener)
    if len(found) < given.min_dumps:
        raise BadParameter(
            f"--min-dumps (min_dumps) needs {given.min_dumps} dumps, and there are "
            f"{len(found)}"
        )
    result = judge(found, rules, reference)
    if last is not None:
        result.findings, notes = with_examples(result.findings, last)
        result.notes += notes
    today = datetime.datetime.now().date()
    against_known = known_findings.compared(result.findings, known, today)
    if given.update_baseline or given.prune:
        known = known_findings.updated(
            known, against_known, add=given.update_baseline, prune=given.prune
        )
        known_findings.write_baseline(file, known)
        against_known = known_findings.compared(result.findings, known, today)
    return Check(
        Verdict(
            result,
            against_known,
            str(file),
            given.strict_baseline,
            given.allow_incomplete,
        )
    )


def _kept_of(
    named: Sequence[str], opener: Opener
) -> tuple[list[ComparedDump], HeapTables | None]:
    """The part of each dump that the gate needs, and the tables of the last one."""
    from ingest.compare.dumps import of_heap
    from ingest.gate.findings import MAX_PATHS, TREE
    from ingest.heap.read_options import REDACTED

    found: list[ComparedDump] = []
    last: HeapTables | None = None
    for number, dump in enumerate(opener.open_all(named), start=1):
        last = None  # the next heap needs the memory
        name = PurePath(dump.what).name
        if opener.options.redaction is not None:
            name = f"{REDACTED}-{1 if dump.part is not None else number}"
        if dump.part is not None:
            name = f"{name} {dump.part.number}"
        last = dump.tables(path_limit=MAX_PATHS, trees=(TREE,), path_rows=True)
        found.append(of_heap(name, last, dump.identity, dump.file_ms))
    return found, last


# ---------------------------------------------------------------- export, capture


def export(
    dump: str,
    folder: str | Path,
    *,
    kind: ExportFormat
    | Literal["parquet", "csv", "csv-raw", "neo4j-admin"] = "parquet",
    name: str | None = None,
    force: bool = False,
    progress: Progress = silent,
    **reading: Unpack[ReadingOptions],
) -> Mapping[str, int]:
    """Write a dump as tables, or as input of ``neo4j-admin``.

    Args:
        dump: As `ingest.open` takes it.
        folder: Folder to write to; its ``README.md`` describes the columns.
        kind: What to write.
        name: What to call the dump (``neo4j-admin`` only).
        force: Write into a folder with files.
        progress: Called with stage, units done, and their number or ``None``.
        reading: Options; see `ingest.api.reading.ReadingOptions`.

    Returns:
        Bytes of each file, by name.

    Raises:
        DumpError: the dump cannot be read.
        IngestError: the folder has files.

    Example:
        >>> sorted(ingest.export("example.gclog", "tables"))[:2]
        ['README.md', 'allocation_sites.parquet']
    """
    from ingest import __version__
    from ingest.system.settings import settings
    from ingest.tables.export import export as write
    from ingest.tables.export_format import ExportFormat

    opened = Opener(
        options=read_options(reading), origins=True, progress=progress
    ).open(str(dump))
    tables = opened.tables()
    assert opened.identity is not None
    return write(
        tables,
        Path(folder),
        ExportFormat(kind),
        version=settings().neo4j_version,
        about={
            "name": name or opened.name,
            "source": opened.source,
            **asdict(opened.identity),
            "tool_version": __version__,
        },
        force=force,
        progress=progress,
    )


def capture(
    program: str | int,
    output: str | Path | None = None,
    *,
    runtime: str | None = None,
    force: bool = False,
    timeout_s: float | None = None,
    progress: Progress = silent,
    **options: Unpack[CaptureOptions],
) -> Captured:
    """Capture a heap dump of a running program.

    Args:
        program: Process id or name; the address of a Dart VM service
            (``http://HOST:PORT/TOKEN=/``) or of an inspector of V8 (``HOST:PORT``).
        output: The file; by default named after the program.
        runtime: As ``ingest capture`` names it; by default that of the program,
            ``dart`` for a URL, and ``node`` for ``HOST:PORT``.
        force: Overwrite the file.
        timeout_s: Seconds to wait for a response.
        progress: Called with stage, units done, and their number or ``None``.
        options: Options of the runtime; see `CaptureOptions`.

    Returns:
        What was captured: ``path``, ``byte_count``, ``sha256`` and more.

    Raises:
        CaptureError: there is no such program, or it sent no complete dump.
        BadParameter: the runtime or an option is unknown, or they do not fit.
    """
    from ingest.capture import TIMEOUT_S
    from ingest.capture.capturers import CAPTURERS, capturer_of

    wanted, path = str(program), None if output is None else Path(output)
    if runtime is not None and runtime not in CAPTURERS:
        raise BadParameter(f"runtime is one of {', '.join(CAPTURERS)}")
    chosen = CAPTURERS[runtime] if runtime else capturer_of(wanted)
    for option in options.keys() - set(chosen.options):
        owners = [one.name for one in CAPTURERS.values() if option in one.options]
        if not owners:
            raise BadParameter(f"no capture has an option {option}")
        raise BadParameter(
            f"{option} is for {' and '.join(owners)}, and this is {chosen.name}"
        )
    if chosen.name == "chrome" and wanted.isdigit():
        raise BadParameter(f"name the host too: 127.0.0.1:{wanted}")
    timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
    return chosen.capture(
        wanted, path, **options, force=force, timeout_s=timeout_s, progress=progress
    )
