"""Leak suspects as JSON and as text: the same for a file and for a loaded dump."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ingest.heap.completeness import NOT_CONTAINED, incomplete_note
from ingest.readers import capture_command, writer_limit
from ingest.reports.paths import path_text
from ingest.reports.render import folded
from ingest.runtimes import NAMES, named
from ingest.suspects.words import OF_BOTH
from ingest.words.command_line import command
from ingest.words.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ingest.heap.graph import HeapGraph
    from ingest.suspects.suspect import Suspect

_NO_SUSPECTS = (
    "No leak suspects: no group of objects of one type, kept alive by one holder or by "
    "many alike, retains a tenth of the reachable heap."
)
_NONE_FOUND = "No leak suspects in the part of the heap that the dump has."

_COUNTS = ("none", "one", "two", "three", "four", "five")
_NOTABLE_GARBAGE = 0.05
_NOTABLE_METADATA = 0.05


def of_heap(graph: HeapGraph, suspects: Iterable[Suspect]) -> list[dict[str, object]]:
    """Suspects as JSON values."""
    return [
        {
            "type": graph.type_names[suspect.type_index],
            "count": suspect.object_count,
            "bytes": suspect.retained_bytes,
            "share": round(suspect.share, 4),
            "pattern": suspect.pattern,
            "holder": suspect.holder,
            "reference": suspect.reference,
            "root": {"kind": suspect.root_kind, "name": suspect.root_name},
            "path": list(suspect.path),
            "cut": suspect.cut,
            "cut_step": suspect.cut_step,
            "contents": list(suspect.contents),
            "address": graph.address(suspect.object_index),
            "container": graph.address(suspect.container_index),
            "sentence": suspect.sentence,
            "advice": suspect.advice,
            "signs": list(suspect.signs),
            "doubts": list(suspect.doubts),
            "fingerprint": suspect.fingerprint,
        }
        for suspect in suspects
    ]


def of_rows(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Rows of the query ``leak-suspects`` in the form of `of_heap`.

    Suspects of dumps that an earlier version has loaded have no sentences, and are left
    out.
    """
    return [
        {
            "type": row["type"],
            "count": row["object_count"],
            "bytes": row["retained_bytes"],
            "share": round(cast("float", row["share"]), 4),
            "pattern": row["pattern"],
            "holder": row["holder"],
            "reference": row["reference"],
            "root": {"kind": row["root_kind"], "name": row["root_name"]},
            **{name: row[name] for name in ("path", "cut", "cut_step", "contents")},
            "address": row["address"],
            "container": row["container_address"],
            "sentence": row["sentence"],
            "advice": row["advice"] or "",
            "signs": row["signs"] or [],
            "doubts": row["doubts"] or [],
            "fingerprint": row["fingerprint"],
        }
        for row in rows
        if row["sentence"] is not None and row["contents"] is not None
    ]


def no_suspects(incomplete: str | None) -> str:
    """The text if there are no suspects.

    Args:
        incomplete: Why the dump is not the whole heap; empty or ``None`` if it is.
    """
    return _NONE_FOUND if incomplete else _NO_SUSPECTS


def notes(
    object_count: int,
    shallow_bytes: int,
    reachable_count: int,
    reachable_bytes: int,
    metadata_bytes: int,
    *,
    incomplete: str | None,
    garbage_types: Sequence[str] = (),
    generated: Sequence[str] = (),
) -> list[str]:
    """Sentences about the whole heap that come before the suspects.

    An incomplete dump does not tell how much is garbage: it may lack references.
    """
    found = []
    if incomplete:
        found.append(incomplete_note("This dump", incomplete))
    garbage = shallow_bytes - reachable_bytes
    unreached = (
        f"{human_bytes(garbage)} in "
        f"{counted(object_count - reachable_count, 'objects')} that no root reaches"
    )
    among = f", among them {' and '.join(garbage_types)}" if garbage_types else ""
    if incomplete and 2 * garbage > shallow_bytes:
        found.append(
            f"It has {unreached}{among}. What holds them may be in the missing part."
        )
    elif not incomplete and garbage > _NOTABLE_GARBAGE * shallow_bytes:
        share = f"{garbage / shallow_bytes:.0%}"
        found.append(f"{share} of the heap is garbage: {unreached}{among}.")
    if metadata_bytes > _NOTABLE_METADATA * reachable_bytes:
        found.append(
            f"VM metadata (classes, code, scripts) is "
            f"{metadata_bytes / reachable_bytes:.0%} of the reachable heap: "
            f"{human_bytes(metadata_bytes)}."
        )
    return [*found, *generated]


_ONLY_SIZE = "Size alone, which does not prove a leak."


def reasons(suspect: Mapping[str, object]) -> list[tuple[str, str]]:
    """Why a suspect is listed and what speaks against it, as labels and texts."""
    signs = cast("list[str]", suspect["signs"])
    doubts = cast("list[str]", suspect["doubts"])
    found = []
    if signs or not doubts:
        found.append(("Why", " ".join(signs) or _ONLY_SIZE))
    if doubts:
        found.append(("But", " ".join(doubts)))
    return found


class NextStep(NamedTuple):
    """What to do after an answer.

    Attributes:
        text: A sentence.
        command: The command that ends it, to be pasted; empty if there is none.
    """

    text: str
    command: str = ""

    def __str__(self) -> str:
        """Return both for a terminal, the command on a line of its own."""
        return folded(self.text) + (f"\n    {self.command}\n" if self.command else "")


def next_step(about: Mapping[str, object], dump: str) -> NextStep:
    """What to do next, since one dump cannot prove a leak.

    Args:
        about: The dump: its ``format``; and its ``runtime``, its ``producer``, why it
            is ``incomplete`` and the ``parts`` of its file, each empty or ``None`` if
            that is not known or so.
        dump: Path of the dump, or name of the loaded dump.
    """
    format_name, incomplete = str(about["format"]), str(about["incomplete"] or "")
    runtime, producer = str(about["runtime"] or ""), str(about["producer"] or "")
    known = named(runtime if runtime in NAMES else "")
    ways = [one.writes for one in known.platforms if producer.startswith(one.producer)]
    how = (*ways, known.writes or capture_command(format_name))[0]
    if incomplete and incomplete.endswith(NOT_CONTAINED) and writer_limit(format_name):
        return NextStep(
            f"{writer_limit(format_name)} Another writer takes all of them:", how
        )
    if incomplete:
        return NextStep("Take the dump again; a complete one may show more.")
    parts = cast("list[dict[str, object]]", about.get("parts") or [])
    of_process = [one["process"] for one in parts if one["is_read"]]
    alike = sum(one["process"] in of_process for one in parts)
    if alike > 1:
        return NextStep(
            "One dump shows what holds memory, not what grows. The file has "
            f"{alike:,} heap dumps; compare them:",
            command("check", "FILE" if dump == "-" else dump),
        )
    take = f" ({how})" if how else ""
    return NextStep(
        "One dump shows what holds memory, not what grows. To see what grows, take "
        f"another dump{take} after the program has done the same work again, and "
        "compare both:",
        command("compare", "FIRST" if dump == "-" else dump, "SECOND"),
    )


SMALLER = (
    "Smaller groups of the program's own objects, which may be needed, or a leak that "
    "has begun:"
)


def smaller_text(smaller: Sequence[Mapping[str, object]]) -> str:
    """Groups besides the suspects, for a terminal; empty if there are none.

    Args:
        smaller: As `of_heap` returns them.
    """
    if not smaller:
        return ""
    text = "\n" + folded(SMALLER)
    for one in smaller:
        text += folded(f"- {printable(str(one['sentence']))}", "  ", hanging="  ")
    return text


def suspects_text(
    suspects: Sequence[Mapping[str, object]], incomplete: str | None
) -> str:
    """Suspects for a terminal, each with its contents and its path.

    Args:
        suspects: As `of_heap` returns them.
        incomplete: Why the dump is not the whole heap; empty or ``None`` if it is.
    """
    if not suspects:
        return "\n" + folded(no_suspects(incomplete))
    text = ""
    for number, suspect in enumerate(suspects, start=1):
        text += "\n" + folded(
            f"{number}. {printable(str(suspect['sentence']))}", hanging="   "
        )
        for label, reason in reasons(suspect):
            text += folded(f"{label}: {printable(reason)}", "     ")
        contents = "; ".join(cast("list[str]", suspect["contents"]))
        text += folded(f"Contents by shallow size: {printable(contents)}.", "     ")
        text += path_text(
            cast("list[str]", suspect["path"]), cast("int | None", suspect["cut_step"])
        )
        if suspect["advice"]:
            text += folded(printable(str(suspect["advice"])), "     ")
    share = sum(cast("float", suspect["share"]) for suspect in suspects)
    are_of_heap = not any(f" of {OF_BOTH})" in str(one["sentence"]) for one in suspects)
    if len(suspects) > 1 and share <= 1 and are_of_heap:
        text += "\n" + folded(
            f"Together these {_COUNTS[min(len(suspects), 5)]} hold at least "
            f"{share:.0%} of the reachable heap."
        )
    return text
