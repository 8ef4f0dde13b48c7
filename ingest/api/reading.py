"""How the functions of the interface, and the commands, read dumps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypedDict

from ingest.arrays.spill import NEVER
from ingest.dumps import Opener, is_file
from ingest.errors import BadParameter
from ingest.heap.read_options import Fold, LayoutOption, ReadOptions, StrengthPolicy
from ingest.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.dumps import Keeper
    from ingest.dumps.dump import Dump
    from ingest.progress import Progress


class ReadingOptions(TypedDict, total=False):
    """Options of all functions that read dumps, the same as those of the commands.

    Attributes:
        strict: Refuse a dump at its first irregularity.
        fold: ``auto`` leaves out objects of the runtime, ``none`` reads all.
        part: Which dump to read of a file that has several.
        own: Patterns of the program's own types, such as ``Acme.*``; with ``!``,
            patterns of a library's types.
        strength: ``strongest``, or ``mat``: soft, weak, finalizer and phantom
            references count as strong.
        layout: Bytes ``HEADER/REFERENCE/ARRAY[/ALIGNMENT]`` of Java objects.
        mapping: File of R8 or ProGuard with the original names of a Java or Android
            program.
        source_map: Source map of a bundled or minified JavaScript program, or a folder
            of them.
        runtime: Runtime of the program; by default it is recognised.
        values: Patterns of types whose objects keep the numbers, truth values and enum
            constants in their fields.
        redact: Remove values, and names of threads, processes and files.
        hash_types: With ``redact``: patterns of types whose names are hashed.
        max_memory: Bytes that the process may occupy, or a size such as ``12GiB``; 0
            for no limit. By default the free memory.
        spill: Folder for the columns of a dump that needs more memory, or ``auto`` for
            the folder of temporary files, if its disk has room. From then on all large
            NumPy arrays that this thread makes are in nameless files there. By default
            such a dump is refused.
        any_expansion: Read compressed files however large their content is.
    """

    strict: bool
    fold: Fold | Literal["auto", "none"]
    part: int | None
    own: Sequence[str]
    strength: StrengthPolicy | Literal["strongest", "mat"]
    layout: LayoutOption | str | None
    mapping: str | None
    source_map: str | None
    runtime: str | None
    values: Sequence[str]
    redact: bool
    hash_types: Sequence[str]
    max_memory: int | str | None
    spill: str
    any_expansion: bool


_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def read_options(given: ReadingOptions, own: Sequence[str] = ()) -> ReadOptions:
    """Make the options for readers.

    Args:
        given: Options; the others have their defaults. ``INGEST_OWN``,
            ``INGEST_SALT`` and builds in ``config.toml`` are used, too.
        own: Further patterns of the program's own types.

    Raises:
        BadParameter: an option is unknown or mistyped, or two contradict each other.
    """
    from ingest.heap.redaction import Redaction
    from ingest.runtimes import RUNTIMES
    from ingest.system.settings import builds, settings

    if unknown := sorted(given.keys() - ReadingOptions.__annotations__.keys()):
        known = ", ".join(ReadingOptions.__annotations__)
        raise BadParameter(f"no option {unknown[0]}; there are {known}")
    layout = given.get("layout")
    if isinstance(layout, str):
        layout = LayoutOption.parse(layout)
        if layout is None:
            raise BadParameter(
                "layout takes HEADER/REFERENCE/ARRAY[/ALIGNMENT] in bytes, such as "
                "12/4/16 or 16/8/24"
            )
    runtime, names = given.get("runtime"), [one.name for one in RUNTIMES]
    if runtime is not None and runtime not in names:
        raise BadParameter(f"runtime is one of {', '.join(names)}")
    hashed = tuple(given.get("hash_types") or ())
    if hashed and not given.get("redact"):
        raise BadParameter("--hash-types needs --redact (hash_types, redact=True)")
    if given.get("values") and given.get("redact"):
        raise BadParameter("--values keeps what --redact removes: give one of them")
    redaction = Redaction(hashed, settings().salt) if given.get("redact") else None
    return ReadOptions(
        strict=given.get("strict", False),
        fold=Fold(given.get("fold", Fold.AUTO)),
        part=given.get("part"),
        own=(
            *settings().own.replace(",", " ").split(),
            *(given.get("own") or ()),
            *own,
        ),
        strength=StrengthPolicy(given.get("strength", StrengthPolicy.STRONGEST)),
        layout=layout,
        mapping=given.get("mapping"),
        source_map=given.get("source_map"),
        builds=builds(),
        runtime=runtime,
        values=tuple(given.get("values") or ()),
        redaction=redaction,
        max_memory_bytes=memory_limit(given.get("max_memory")),
        spill=given.get("spill", NEVER),
        any_expansion=given.get("any_expansion", False),
    )


def keepers_for(dumps: Sequence[str]) -> Sequence[Keeper]:
    """Where to look for names that are not files: fleets, if there are such names."""
    if all(map(is_file, dumps)):
        return []
    from ingest.fleet.stored import KeptByFleets

    return [KeptByFleets()]


def memory_limit(given: int | str | None) -> int | None:
    """Bytes that this process may occupy; ``None`` for no limit.

    Raises:
        BadParameter: ``given`` is not a size.
    """
    from ingest.system.memory import available_bytes

    if given is None:
        return available_bytes() * 19 // 20  # other processes need a little, too
    match = _SIZE.fullmatch(str(given).strip())
    if match is None:
        raise BadParameter("--max-memory takes a size, such as 12GiB or 800MiB")
    power = " KMGT".index(match[2].upper() or " ")
    return int(float(match[1]) * 1024**power) or None


def opened(
    dump: str,
    reading: ReadingOptions,
    progress: Progress = silent,
    keepers: Sequence[Keeper] | None = None,
    *,
    origins: bool = True,
) -> Dump:
    """Open a dump; nothing of a file is read before it is needed.

    Args:
        dump: As `ingest.open` takes it.
        reading: Options.
        progress: Receives all stages.
        keepers: Where to look for a name that is not a file; by default, fleets.
        origins: Whether its objects are followed back through collections.
    """
    return Opener(
        options=read_options(reading),
        keepers=keepers_for([str(dump)]) if keepers is None else keepers,
        origins=origins,
        progress=progress,
    ).open(str(dump))
