"""The parts of the leak report: its queries, and its tables in their order.

A table without rows is left out, unless it has a text for that case.
"""

from __future__ import annotations

from ingest.reports.panels import OWNERS, Brief, Panel
from ingest.runtimes import NAMES, named

_MAT = (
    "All references and roots count as strong (--strength mat), including soft, weak "
    "and phantom ones."
)
RETENTION = (
    "Retained bytes would be freed with the object, or with all instances of the type."
)
OF_SUSPECTS = (
    "The size of a leak suspect is what its cut frees: it includes the collections "
    "that hold the instances, and no instances that are held elsewhere."
)
UNREACHABLE = (
    "No root reaches it: it is garbage, freed by the next collection that examines it."
)


def liveness(policy: object, runtime: object) -> str:
    """Which references and roots hold; empty if dumps of the runtime have no others.

    Args:
        policy: The dump's ``strength_policy``.
        runtime: Name of its runtime, or ``None``.
    """
    if policy == "mat":
        return _MAT
    known = named(str(runtime) if runtime in NAMES else "")
    text = ""
    if known.weak:
        text = (
            f"An object that only {known.weak} refer to can be freed, and is counted "
            "apart."
        )
    if known.has_finalizer_queue:
        text += " All other roots keep objects alive, including the finalizer queue."
    return text.lstrip()


def retention(policy: object, runtime: object) -> str:
    """The same, and what retained sizes are."""
    return f"{liveness(policy, runtime)} {RETENTION}".lstrip()


# fmt: off
PANELS: tuple[Panel, ...] = (
    Panel("retained-objects", "Objects by retained size", limit=200,
        columns=("type", "address", "value", "shallow_bytes", "retained_bytes",
        "root_distance"),
        bar="retained_bytes",
        note="Retained sizes nest: two rows can include the same bytes.",
        empty="nothing is reachable", is_long=True,
        brief=Brief(10, ("type", "address", "retained_bytes", "retained_count",
        "root_distance"))),
    Panel("retained-types", "Types by retained size", empty="nothing is reachable",
        brief=Brief(10, ("type", "reachable_count", "reachable_bytes",
        "retained_bytes"))),
    Panel("type-histogram", "Type histogram", limit=500,
        columns=("type", "instance_count", "shallow_bytes", "reachable_bytes",
        "retained_bytes", "estimated_count", "estimated_bytes"),
        bar="shallow_bytes",
        note="Shallow bytes are those of the instances themselves; retained bytes "
        "would be freed with all of them, so they overlap and do not add up.",
        empty="the dump has no objects", is_long=True,
        brief=Brief(15, ("type", "instance_count", "shallow_bytes", "reachable_bytes",
        "estimated_count", "estimated_bytes"))),
    Panel("namespace-histogram", "Namespaces", limit=200,
        columns=("namespace", "type_count", "instance_count", "shallow_bytes",
        "reachable_bytes"),
        bar="shallow_bytes", empty="the dump has no objects", is_long=True),
    Panel("roots-by-kind", "GC roots by kind", limit=20,
        columns=("kind", "root_count", "weak_count", "pinned_count", "retained_bytes"),
        bar="retained_bytes",
        empty="the dump has no roots: everything is garbage, or the file is truncated",
        brief=Brief(20, ("kind", "root_count", "weak_count", "pinned_count",
        "retained_bytes"))),
    Panel("static-roots", "Static fields", limit=50,
        columns=("type", "root_count", "retained_bytes", "largest_type"),
        bar="retained_bytes",
        brief=Brief(10, ("type", "root_count", "retained_bytes", "largest_type"))),
    Panel("event-handlers", "Event handlers", limit=50,
        columns=("holder", "delegate_type", "target_type", "handler_count",
        "target_count", "retained_bytes", "target_bytes"),
        bar="retained_bytes",
        note="By publisher (holder) and subscriber (target). Retained bytes are freed "
        "with the handlers; target bytes are the retained sizes of their targets, "
        "which may have other referrers.", is_long=True,
        brief=Brief(10, ("holder", "delegate_type", "target_type", "handler_count",
        "retained_bytes", "target_bytes"))),
    Panel("timers", "Timers", limit=50,
        columns=("timer_type", "held_type", "by_callback", "timer_count", "held_count",
        "retained_bytes"),
        bar="retained_bytes",
        note="Objects that timers keep alive until they are disposed of.",
        is_long=True,
        brief=Brief(10, ("timer_type", "held_type", "timer_count", "held_count",
        "retained_bytes"))),
    Panel("async-state-machines", "Async methods", limit=50,
        columns=("method", "kind", "type", "live_count", "live_bytes",
        "retained_bytes"),
        bar="retained_bytes",
        note="Calls that are waiting, or completed tasks that are still referenced.",
        is_long=True,
        brief=Brief(10, ("method", "kind", "live_count", "live_bytes",
        "retained_bytes"))),
    Panel("born-between", "Allocated since the earlier dump", limit=100,
        columns=("type", "object_count", "shallow_bytes", "survived_count",
        "largest_address", "largest_retained_bytes", "earlier"),
        bar="shallow_bytes",
        note="Objects that are not in the previous dump of the process.", is_long=True,
        brief=Brief(10, ("type", "object_count", "shallow_bytes", "survived_count",
        "largest_address", "largest_retained_bytes"))),
    Panel("died-between", "Freed since the earlier dump", limit=100,
        columns=("type", "object_count", "shallow_bytes", "earlier_count", "share",
        "earlier"),
        bar="shallow_bytes",
        note="Objects of the previous dump of the process that no longer exist.",
        is_long=True),
    Panel("survivors-of-dump", "Survived since the earlier dump", limit=100,
        columns=("type", "object_count", "shallow_bytes", "moved_count",
        "earlier_count", "share", "earlier"),
        bar="shallow_bytes",
        note="Objects that are in both dumps, even if they were moved.", is_long=True),
    Panel("survivors-of-three", "Allocated between two earlier dumps and still here",
        limit=100,
        columns=("type", "object_count", "shallow_bytes", "allocated_count", "share",
        "largest_address", "largest_retained_bytes", "first", "second"),
        bar="shallow_bytes",
        note="Objects that are in the previous dump of the process and in this one, "
        "but not in the one before those.", is_long=True,
        brief=Brief(10, ("type", "object_count", "shallow_bytes", "allocated_count",
        "share", "largest_address"))),
    Panel("allocation-sites", "Allocation sites", limit=100,
        columns=("site", "reachable_bytes", "reachable_count", "type", "stack"),
        bar="reachable_bytes",
        note="Functions of the program, by the reachable bytes that they allocated.",
        is_long=True,
        brief=Brief(10, ("site", "type", "reachable_count", "reachable_bytes"))),
    Panel("unreachable-types", "Garbage", limit=50,
        columns=("type", "unreachable_count", "unreachable_bytes"),
        bar="unreachable_bytes",
        note="Unreachable objects: the next collection that examines them frees them.",
        empty="none: every object is reachable",
        brief=Brief(10, ("type", "unreachable_count", "unreachable_bytes"))),
    Panel("generation-histogram", "Generations", limit=10,
        columns=("name", "object_count", "shallow_bytes", "reachable_count",
        "reachable_bytes"),
        bar="shallow_bytes",
        brief=Brief(10, ("name", "object_count", "shallow_bytes", "reachable_bytes"))),
    Panel("segments", "Segments", limit=100,
        columns=("segment", "kind", "start", "end", "used_bytes", "object_count",
        "other_bytes"),
        bar="used_bytes",
        note="Other bytes belong to no object in the dump: free space, garbage, "
        "padding.",
        brief=Brief(10, ("segment", "kind", "start", "used_bytes", "object_count",
        "other_bytes"))),
    Panel("free-space", "Free space", limit=100,
        columns=("segment", "kind", "used_bytes", "live_bytes", "dead_bytes",
        "free_bytes", "other_bytes", "empty_share"),
        bar="other_bytes",
        note="Free bytes are gaps that the runtime has marked; other bytes belong to "
        "no object.",
        brief=Brief(10, ("segment", "kind", "live_bytes", "dead_bytes", "free_bytes",
        "other_bytes"))),
    Panel("gc-timeline", "Garbage collections", limit=1000,
        columns=("number", "generation", "reason", "mode", "started_us", "duration_us",
        "heap_bytes", "promoted_bytes", "moved_bytes", "is_dump"),
        bar="heap_bytes",
        note="Collections of the trace. Heap bytes are the heap size after each.",
        is_long=True),
    Panel("isolates", OWNERS, limit=20,
        columns=("owner", "root_count", "static_count", "retained_bytes",
        "largest_type"),
        bar="retained_bytes",
        note="Objects that two of them refer to count for both.",
        brief=Brief(10, ("owner", "root_count", "static_count", "retained_bytes",
        "largest_type"))),
    Panel("closures", "Closures by function", limit=50,
        columns=("function", "declared_in", "closure_count", "context_count",
        "context_bytes", "largest_address"),
        bar="context_bytes",
        note="A closure keeps its context alive, and so all captured variables.",
        is_long=True,
        brief=Brief(10, ("function", "declared_in", "closure_count", "context_bytes"))),
    Panel("strings", "Duplicate strings", limit=50,
        columns=("value", "length", "string_count", "wasted_bytes", "sample_address"),
        bar="wasted_bytes",
        note="Wasted bytes are those of all copies but one.", is_long=True,
        brief=Brief(10, ("value", "string_count", "wasted_bytes", "sample_address"))),
    Panel("external-bytes", "Memory outside the heap", limit=50,
        columns=("type", "address", "external_name", "external_bytes", "owner_type"),
        bar="external_bytes",
        brief=Brief(10, ("type", "address", "external_name", "external_bytes"))),
    Panel("domains", "Application domains", limit=20, least_rows=2,
        columns=("name", "object_count", "shallow_bytes"),
        bar="shallow_bytes",
        brief=Brief(20, ("name", "object_count", "shallow_bytes"))),
    Panel("warnings", "Irregularities in the dump", limit=20,
        columns=("warning", ),
        brief=Brief(20, ("warning", ))),
)
# fmt: on


def report_queries(*, page: bool) -> dict[str, dict[str, str]]:
    """Return the queries of the report with their parameters, by name.

    Args:
        page: Whether for the HTML page, which has more and longer tables than the text.
    """
    queries: dict[str, dict[str, str]] = {"dump": {}, "leak-suspects": {"limit": "10"}}
    if page:
        # A long linked list takes one row for each of its objects, but is one tile.
        queries["dominator-treemap"] = {"limit": "10000"}
        queries |= {"type-tree": {}, "root-path-tree": {}}
    else:
        queries["dominator-treemap"] = {"limit": "500"}
    for panel in PANELS:
        limit = panel.limit if page else panel.brief.limit if panel.brief else 0
        if limit:
            queries[panel.query] = {"limit": str(limit)}
    return queries
