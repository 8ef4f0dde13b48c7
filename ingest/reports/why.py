"""Why something is alive, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ingest.queries.library import find
from ingest.reports.paths import path_text, paths_text
from ingest.reports.render import cell, folded, table_text
from ingest.reports.report_panels import OF_SUSPECTS, UNREACHABLE
from ingest.words.text import counted, human_bytes, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.queries.answer import Answer

_MOST_STEPS, _ROWS = 40, 10

OBJECT_QUERIES = (
    "object",
    "k-shortest-root-paths",
    "dominator-chain",
    "referrers-of",
)
TYPE_QUERIES = (
    "type-totals",
    "instances-by-root-path",
    "root-paths-of-type",
    "owners-of-type",
    "objects-of-type",
)

EXAMPLE = "k-shortest-root-paths"
"""The query of an example path with fields, for the first instance."""


def source(query: str) -> str:
    """Return the line that names the query of a part."""
    return f"  (query: {query})\n"


def why_object(address: str, answers: dict[str, Answer]) -> str:
    """Describe the objects at an address; each domain can have one."""
    parts = []
    for row in answers["object"].dicts():
        parts.append(_facts_of(address, row))
        domain = row["domain"]
        paths = _of_domain(answers["k-shortest-root-paths"], domain)
        if row["root_distance"] is None:
            parts.append("\n" + folded(UNREACHABLE))
        else:
            parts.append(_paths(paths))
            parts.append(_chain(answers["dominator-chain"], domain))
        parts.append(_referrers(row, answers["referrers-of"], domain))
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _of_domain(answer: Answer, domain: object) -> list[dict[str, object]]:
    return [row for row in answer.dicts() if row["domain"] == domain]


def _facts_of(address: str, row: dict[str, object]) -> str:
    name = printable(str(row["type"]))
    if row["missing"]:
        return f"{address}  an object that is referred to, but not in the dump\n"
    text = f"{address}  {name}\n"
    text += f"  shallow size {cell(row['shallow_bytes'])} bytes, "
    text += f"retained size {cell(row['retained_bytes'])} bytes "
    text += f"({cell(row['retained_count'])} object"
    text += "s)" if row["retained_count"] != 1 else ")"
    return text + "\n" + _details_of(row) + source("object")


_DETAILS = (
    "length",
    "external_bytes",
    "identity_hash",
    "generation",
    "segment",
    "born_in_gc",
    "collections_survived",
    "allocated_ms",
)


def _details_of(row: dict[str, object]) -> str:
    """Return the details that only some formats record, a line each."""
    text = ""
    if row["value"] is not None:
        text += folded(f"value: {printable(str(row['value']))}")
    for name in _DETAILS:
        if row[name] is not None:
            text += f"  {name.replace('_', ' ')}: {cell(row[name])}\n"
    if row["allocation_stack"] is not None:
        text += folded(f"allocated by: {printable(str(row['allocation_stack']))}")
    for place in cast("list[str]", row["earlier_addresses"]):
        text += f"  earlier: {printable(place)}\n"
    return text


def _paths(rows: list[dict[str, object]]) -> str:
    if not rows:
        return ""
    text = "Shortest paths from GC roots"
    text = f"{text}\n{source('k-shortest-root-paths')}"
    return text + paths_text(
        [[str(row["root"]), *cast("list[str]", row["steps"])] for row in rows]
    )


def _chain(chain: Answer, domain: object) -> str:
    rows = _of_domain(chain, domain)
    if not rows:
        return ""
    text = "Dominators: freeing any of these frees the object\n"
    text += source("dominator-chain")
    if len(rows) == 1:
        return text + "    only the roots: to free it, all its referrers must release "
        "it\n"
    shown = rows[1:] if len(rows) <= _MOST_STEPS else [*rows[1:21], *rows[-19:]]
    columns = ("type", "address", "retained_bytes")
    cut = [
        (chain.captions.of(str(row["type"])), row["address"], row["retained_bytes"])
        for row in shown
    ]
    text += table_text(columns, cut, indent="    ")
    if len(shown) < len(rows) - 1:
        text += f"    ({len(rows) - 1 - len(shown):,} more in between)\n"
    return text


def _referrers(row: dict[str, object], referrers: Answer, domain: object) -> str:
    listed = _of_domain(referrers, domain)
    # Roots first, and what does not hold the object last.
    listed.sort(key=lambda r: (r["address"] is not None, r["weak"]))
    text = f"Referrers: {counted(cast('int', row['referrer_count']), 'references')}"
    text += f" from objects, {counted(cast('int', row['root_count']), 'roots')}"
    if any(r["weak"] for r in listed):
        text += ", some of them weak"
    text += f"\n{source('referrers-of')}"
    held = [
        {
            "held_by": _holder(r),
            "type": referrers.captions.of(str(r["type"] or "")),
            "field": r["field"],
            "address": r["address"],
            "root_distance": r["root_distance"],
        }
        for r in listed[:_ROWS]
    ]
    if all(row["field"] is None for row in held):  # a format without fields
        for one in held:
            del one["field"]
    if held:
        rows = [tuple(one.values()) for one in held]
        text += table_text(tuple(held[0]), rows, indent="    ")
    count = cast("int", row["referrer_count"]) + cast("int", row["root_count"])
    shown = sum(cast("int", r["reference_count"]) for r in listed[:_ROWS])
    return text + _left_out(count - shown, "references")


def _holder(row: dict[str, object]) -> str:
    """A referrer in words, with why it does not hold the object if it does not."""
    strength = row["strength"] or ("weak" if row["weak"] else "")
    return f"{row['what']} ({strength})" if strength else str(row["what"])


def _left_out(count: int, what: str) -> str:
    return f"    … {counted(count, f'more {what}')}\n" if count > 0 else ""


def _paths_of_type(answers: Mapping[str, Answer]) -> str:
    """The paths of all instances, and an example with fields.

    A dump that an earlier version has loaded has only paths of the largest instances.
    """
    answer = answers["instances-by-root-path"]
    rows = answer.dicts()
    if not rows:
        return _named_paths(answers["root-paths-of-type"])
    text = "Shortest paths from GC roots, merged by type\n"
    text += source("instances-by-root-path")
    for row in rows:
        text += f"\n  {_instances(row)} ({cast('float', row['share']):.0%})\n"
        kind, *steps = cast("list[str]", row["path"])
        kind = f"{kind.replace('_', ' ')} roots"
        text += path_text([kind, *map(answer.captions.of, steps)])
    total = sum(
        cast("int", row["reachable_count"]) for row in answers["type-totals"].dicts()
    )
    if rest := total - sum(cast("int", row["instance_count"]) for row in rows):
        text += f"\n  {rest:,} on other paths\n"
    example = answers[EXAMPLE].dicts() if EXAMPLE in answers else []
    if example:
        steps = cast("list[str]", example[0]["steps"])
        text += "\nFor example, the path of the instance that retains most\n"
        text += source(EXAMPLE) + path_text([str(example[0]["root"]), *steps])
    return text


def _named_paths(paths: Answer) -> str:
    """The paths of the largest instances, with the names of their roots."""
    rows = paths.dicts()
    most = find("root-paths-of-type").defaults(0)["instances"]
    followed = sum(cast("int", row["instance_count"]) for row in rows)
    text = "Shortest paths from GC roots, merged by type\n"
    text += source("root-paths-of-type")
    if not rows:
        return f"{text}    no instance is reachable\n"
    if followed == most:
        text += f"  (a sample: the {counted(followed, 'instances')} that retain most)\n"
    for row in rows:
        retained = human_bytes(cast("int", row["retained_bytes"]))
        text += f"\n  {_instances(row)}, retaining {retained}\n"
        root, *steps = cast("list[str]", row["path"])
        text += path_text([root, *map(paths.captions.of, steps)])
    return text


def _instances(row: dict[str, object]) -> str:
    count = cast("int", row["instance_count"])
    return counted(count, "instances")


def type_figures(answers: Mapping[str, Answer]) -> list[tuple[str, str]]:
    """Count and sizes of all instances of a type, in words."""
    rows = answers["type-totals"].dicts()

    def total(column: str) -> int:
        return sum(cast("int", row[column]) for row in rows)

    figures = [
        (
            "instances",
            f"{total('instance_count'):,}, {human_bytes(total('shallow_bytes'))}",
        ),
        (
            "reachable",
            f"{total('reachable_count'):,}, {human_bytes(total('reachable_bytes'))}",
        ),
    ]
    for row in rows:
        where = f" (domain {row['domain']})" if len(rows) > 1 else ""
        retained = human_bytes(cast("int", row["retained_bytes"]))
        share = f"{cast('float', row['share']):.1%} of the reachable heap"
        figures.append((f"all retain{where}", f"{retained}, {share}"))
    return figures


def why_type(name: str, answers: dict[str, Answer]) -> str:
    """Describe what keeps the instances of a type alive."""
    figures = "".join(
        f"  {words:<12} {figure}\n" for words, figure in type_figures(answers)
    )
    head = f"{printable(name)}\n{source('type-totals')}{figures}"
    totals = answers["type-totals"].dicts()
    if any(row["retained_bytes"] for row in totals):
        head += folded(OF_SUSPECTS)
    parts = [head]
    parts.append(_paths_of_type(answers))
    total = sum(cast("int", row["instance_count"]) for row in totals)
    for query, title, columns in (
        (
            "owners-of-type",
            "Owners: nearest dominators that are not collections",
            ("owner_type", "owner_count", "instance_count", "shallow_bytes"),
        ),
        (
            "objects-of-type",
            "Instances by retained size",
            ("address", "retained_bytes", "retained_count", "root_distance"),
        ),
    ):
        caption = answers[query].captions.of
        found = answers[query].dicts()
        rows = [
            tuple(
                caption(str(row[column])) if column.endswith("type") else row[column]
                for column in columns
            )
            for row in found[:_ROWS]
        ]
        if rows:
            table = table_text(columns, rows, indent="    ")
            rest = ""
            if query == "objects-of-type":
                rest = _left_out(total - len(rows), "instances")
            elif len(found) > _ROWS:
                rest = "    … and further types of owners\n"
            parts.append(f"{title}\n{source(query)}{table}{rest}")
    return "\n".join(parts)
