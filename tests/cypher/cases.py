"""What each query of the library is asked, and of which heap.

A case names the heaps that it is for: an address, a type or a domain is looked
for where it is. ``rows`` are cases with an answer; ``nothing`` are those without,
a few for each query: what the heap does not record, an address that is not there.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.cypher.conftest import traced_heap
from tests.cypher.dart_heap import CACHE, CLOSURES, LIST, NODES, TEXTS
from tests.cypher.heap import ACTION, DICTIONARY, NAMES

Given = dict[str, str]

HEAPS = ("main", "domains", "dart", "dotnet", "trace", "jvm", "v8", "python")
ALL = "main domains dart dotnet trace"


class Case(NamedTuple):
    """One question to one heap.

    Attributes:
        answered: Whether the answer has rows.
    """

    query: str
    heap: str
    given: Given
    answered: bool

    def __str__(self) -> str:
        values = ",".join(f"{name}={value}" for name, value in self.given.items())
        return f"{self.query}-{self.heap}-{values}"


Asked = list[tuple[str, Given, bool]]


def rows(heaps: str, *givens: Given) -> Asked:
    """Each of these given to each of the heaps; all have an answer."""
    return [(heap, given, True) for given in givens for heap in heaps.split()]


def nothing(heaps: str, *givens: Given) -> Asked:
    """The same without an answer."""
    return [(heap, given, False) for given in givens for heap in heaps.split()]


def at(*addresses: str | int) -> list[Given]:
    """Addresses, as given to a query about an object."""
    return [{"address": a if isinstance(a, str) else hex(a)} for a in addresses]


NO_LIMIT: Given = {"limit": "100000"}
FIRST: Given = {"limit": "1"}
LIBRARIES: list[Given] = [
    {"library": one} for one in ("web-2.1", "orm", "(program)", "(standard library)")
]
TWO: Given = {"limit": "2"}
NOBODY: Given = {"earlier": "none of that name"}
SESSION, STRING, ITEM = "App.Session", "System.String", "App.Model.Item"
BYTES, WINDOW = "System.Byte[]", "App.UI.Window"
OF_SESSION: Given = {"type": SESSION}
SKIP = r"(?i).*dictionary.*|Long|.*\[]"

DART = (CACHE, LIST, NODES[0], NODES[2], TEXTS[1], CLOSURES[1])
TRACED = [seen.at for seen in traced_heap().dumps[-1].objects[:8]]


def owners(type_: str, *skips: str) -> list[Given]:
    return [{"type": type_, "skip": skip} for skip in skips]


def between(start: str | int, end: str | int) -> Given:
    (first,), (last,) = at(start), at(end)
    return {"from": first["address"], "to": last["address"]}


TASK: Given = {"type": "shop.Task"}
TASK_VALUES = (
    ("status", "3"), ("done", "true"), ("weight", "0.5"), ("weight", "5e-1"),
    ("mark", "x"), ("state", "OPEN"), ("price", "7"), ("id", str(-(2**63))),
    ("a%60%7D%20b", "9"), ("ratio", "1e300"), ("ratio", "0"),
)  # fmt: skip
TASK_RANGES: tuple[tuple[str, Given], ...] = (
    ("status", {"min": "4"}),
    ("status", {"min": "3", "max": "3.5", "value": "3"}),
    ("weight", {"max": "1"}),
    ("weight", {"min": "1e308"}),
)

CASES: dict[str, Asked] = {
    "accumulation-points": rows("main domains dart dotnet", {})
    + rows("main dotnet", {"share": "0.0", "limit": "1000"})
    + rows("dart", {"share": "0.2", "pile_share": "0.1"})
    + nothing("main", {"share": "0.2", "pile_share": "0.1"})
    + nothing("trace", {}),
    "across-generations": rows(
        "main", {"holders": "1", "held": "1"}, {"holders": "2", "held": "3"}
    )
    + nothing("main", {}, {"holders": "2", "held": "0"})
    + nothing("dart", {}),
    "allocation-files": rows("python", {}, FIRST, *LIBRARIES) + nothing("trace", {}),
    "allocation-sites": rows("trace", {}, FIRST) + nothing("main", {}),
    "array-buffers": rows("v8", {}, FIRST) + nothing("main", {}),
    "async-state-machines": rows("dotnet", {}, FIRST) + nothing("main", {}),
    "attribute-layouts": rows("python", {"type": "app.Order"})
    + rows("python", {"type": "app.Order", "limit": "1"})
    + nothing("main python", {"type": "none of that name"}),
    "big-drops": rows("main dotnet", {})
    + rows(ALL, {"min_drop_bytes": "0", "limit": "1000"})
    + nothing("dart", {}),
    "born-between": rows("trace", {}, TWO)
    + nothing("trace", NOBODY)
    + nothing("main", {}),
    "by-field": rows(
        "dart", *({"field": f} for f in ("entries", "next", "target_", "context_"))
    )
    + rows("dart", *({"field": f} for f in ("a b", "spare", "name", "[0]", "[2]")))
    + rows("dart", {"field": "next", "type": "package:app/list.dart::Node"})
    + nothing("main", {"field": "entries"}),
    "by-library": rows(ALL, {})
    + rows("dart", {"prefix": "dart:"}, TWO)
    + rows("main trace", {"prefix": "App"})
    + nothing("main", {"prefix": "dart:"}),
    "closures": rows("dart", {}, FIRST) + nothing("main", {}),
    "concatenated-strings": rows("v8", {}, FIRST) + nothing("main", {}),
    "containers": rows(ALL, {}) + rows("main dotnet", NO_LIMIT),
    "context-variables": rows("python", {}, FIRST) + nothing("main", {}),
    "coroutines": rows("python", {}, FIRST) + nothing("main", {}),
    "cycles": rows("main dart dotnet", {})
    + rows("main", {"candidates": "1000"}, {"type": "App.Pair"})
    + rows("main", {"type": "App.Pair", "candidates": "3"})
    + nothing("main", OF_SESSION)
    + nothing("domains", {}),
    "delegate-only": rows("main dart dotnet", {})
    + rows("main domains dotnet trace", {"pattern": "App[.].*"})
    + nothing("main", {"pattern": "none"}),
    "dependent-handles": rows("dotnet", {}, FIRST) + nothing("main", {}),
    "detached-dom": rows("v8", {}, FIRST) + nothing("main", {}),
    "died-between": rows("trace", {}, TWO)
    + nothing("trace", NOBODY)
    + nothing("main", {}),
    "domains": rows(ALL, {}),
    "dominated-by": rows("main", *at("0x100", "0x101", "0x200"))
    + rows("domains", *at("0x100"))
    + nothing("main", *at("0x700", "0x1")),
    "dominated-types": rows("main", *at("0x100", "0x101", "0x200"))
    + rows("main", {"address": "0x100", "limit": "2"})
    + rows("domains", *at("0x100"))
    + nothing("main", *at("0x700", "0x1")),
    "dominator-chain": rows("main domains", *at("0x110", "0x113"))
    + rows("main", *at("0x100", "0x112", "0x120", "0x216", "0x306"))
    + rows("main", {"address": "0x306", "limit": "2"})
    + nothing("main", *at("0x803")),
    "dominator-treemap": rows(ALL, {}) + rows("main", {"limit": "7"}),
    "dominator-types": rows(ALL, {}) + rows("dotnet", NO_LIMIT),
    "dump": rows(ALL, {}),
    "event-handlers": rows("main dotnet", {})
    + rows("main dotnet trace", {"pattern": "App[.].*|System.EventHandler"})
    + rows("dotnet", TWO)
    + nothing("domains", {}),
    "external-bytes": rows("dart jvm python", {})
    + rows("dart", FIRST)
    + nothing("main", {}),
    "finalizable-garbage": rows("python", {}, FIRST) + nothing("main", {}),
    "finalizable-unreachable": rows("main dotnet", {})
    + rows("dotnet", FIRST)
    + nothing("dart", {}),
    "finalizer-queue": rows("main dotnet", {})
    + rows("dotnet", FIRST)
    + nothing("dart", {}),
    "free-space": rows("main dotnet", {}) + rows("dotnet", FIRST) + nothing("dart", {}),
    "function-closures": rows("python", {}, FIRST) + nothing("main", {}),
    "gc-handles": rows("main dotnet trace", {})
    + rows("main", FIRST)
    + nothing("dart", {}),
    "gc-timeline": rows("main dotnet trace", {})
    + rows("trace", FIRST)
    + nothing("dart", {}),
    "generation-histogram": rows("main dotnet trace", {})
    + rows("main", TWO)
    + nothing("dart", {}),
    "hubs": rows(ALL, {}) + rows("main dotnet", NO_LIMIT),
    "isolates": rows("dart", {}, FIRST) + nothing("main", {}),
    "k-shortest-root-paths": rows("dart", *at(*DART))
    + rows(
        "main",
        *(
            {**given, "limit": "1000"}
            for given in at("0x100", "0x112", "0x140", "0x141", "0x201")
            + at("0x720", "0x733")
        ),
        *at("0x306", "0x216", "0x710", "0x731", "0x910", "0x113", "0x801"),
        {"address": "0x141", "limit": "1"},
    )
    + rows("domains", {"address": "0x112", "limit": "1000"}, *at("0x113"))
    + rows("reasons", *at("0x100", "0x112", "0x200", "0x202", "0x300", "0x301"))
    + nothing("reasons", *at("0x302"))
    + nothing("main", *at("0x700")),
    "kept-frames": rows("python", {}, FIRST) + nothing("main", {}),
    "large-objects": rows("main dotnet trace", {})
    + rows("main", FIRST)
    + nothing("dart", {}),
    "leak-suspects": rows("main dart trace", {})
    + rows("main", FIRST)
    + nothing("domains dotnet", {}),
    "listeners": rows("v8", {}, FIRST) + nothing("main", {}),
    "log-records": rows("python", {}, FIRST) + nothing("main", {}),
    "lru-caches": rows("python", {}, FIRST) + nothing("main", {}),
    "maps-and-sets": rows("v8", {}, FIRST) + nothing("main", {}),
    "missing-references": rows("main domains dotnet", {})
    + rows("main", FIRST)
    + nothing("dart", {}),
    "module-state": rows("v8", {}, FIRST) + nothing("main", {}),
    "module-variables": rows("python", {}, FIRST),
    "namespace-histogram": rows(ALL, {}) + rows("main", TWO),
    "native-memory": rows("v8", {}, FIRST) + nothing("main", {}),
    "numpy-arrays": rows("python", {}, FIRST) + nothing("main", {}),
    "object": rows("dart", *at(*DART))
    + rows("main", *at("0x100", "0x110", "0x140", "0x702", "0x800", "0x113", "0xa00"))
    + rows("domains", *at("0x113"))
    + rows("trace", *at(*TRACED))
    + nothing("main", *at("0x1")),
    "objects-by-value": rows(
        "jvm",
        *(TASK | {"field": field, "value": value} for field, value in TASK_VALUES),
        *(TASK | {"field": field} | limits for field, limits in TASK_RANGES),
        TASK | {"field": "weight"},
        TASK | {"field": "small", "limit": "1"},
        {"type": "shop.Special", "field": "mark", "value": "\n"},
    )
    + nothing(
        "jvm",
        TASK | {"field": "status", "value": "7"},
        TASK | {"field": "status", "value": "3.0"},
        TASK | {"field": "ratio", "value": "-"},
        TASK | {"field": "done", "min": "0"},
        TASK | {"field": "a`} b"},
        {"type": "shop.Special", "field": "id"},
        {"type": "shop.Special", "field": "ratio", "min": "0"},
        {"type": "shop.Other", "field": "status"},
    )
    + nothing("main", TASK | {"field": "status"}),
    "objects-of-type": rows(
        "main",
        *({"type": NAMES[number]} for number in (DICTIONARY, ACTION)),
        *({"type": name} for name in (STRING, SESSION, "Listener", "App.Long")),
    )
    + rows("domains trace", OF_SESSION)
    + rows("dotnet", {"type": STRING}, {"type": WINDOW})
    + rows("dart", {"type": "dart:core::_OneByteString"})
    + nothing("main", {"type": "App.Unused"}, {"type": "-"}),
    "objsize": rows("main", *at("0x100", "0x710", "0x140", "0x800"))
    + rows("domains", *at("0x100"))
    + rows("dart", *at(CACHE))
    + nothing("main", *at("0x1")),
    "oldest-objects": rows("trace", {}, {"born": "false"}, NO_LIMIT)
    + nothing("main", {}),
    "owners-of-type": rows("main domains trace", OF_SESSION)
    + rows("main", *owners(SESSION, "-", SKIP, ".*"))
    + rows("main dotnet", *owners(STRING, "-", SKIP, ".*"))
    + rows("main", *owners(BYTES, "-", SKIP, ".*"), *owners(ITEM, "-"))
    + rows("main", *owners("App.Long", "-", SKIP))
    + nothing("dart", OF_SESSION),
    "path-between": rows("dart", between(CACHE, TEXTS[1]))
    + rows("main domains", between("0x100", "0x113"))
    + rows("main", between("0x100", "0x140"), between("0x300", "0x306"))
    + rows("main", between("0x712", "0x711"))
    + rows("domains", between("0x110", "0x112"))
    + rows("lattice", between("0x90", "0x80"))
    + nothing("main", between("0x140", "0x100"), between("0x100", "0x100"))
    + nothing("dart", between(CACHE, NODES[2])),
    "pending-promises": rows("v8", {}, FIRST) + nothing("main", {}),
    "pending-timers": rows("v8", {}, FIRST) + nothing("main", {}),
    "pinned-fragmentation": rows("main dotnet", {})
    + rows("dotnet", FIRST)
    + nothing("dart", {}),
    "pinned-objects": rows("main dotnet", {})
    + rows("main", FIRST)
    + nothing("dart", {}),
    "promoted-to-gen2": rows("trace", {}, TWO) + nothing("main", {}),
    "react-fibers": rows("v8", {}, FIRST) + nothing("main", {}),
    "references-of": rows("dart", *at(*DART[:4], DART[5]))
    + rows("main", *at("0x100", "0x110", "0x200", "0x212", "0x702", "0x703"))
    + rows("domains", *at("0x100"))
    + nothing("dart", *at(DART[4])),
    "referrers-of": rows("dart", *at(*DART))
    + rows(
        "main",
        *at("0x110", "0x140", "0x201", "0x602", "0x702", "0x800", "0x112"),
    )
    + rows("domains", *at("0x112"))
    + nothing("main", *at("0x1")),
    "retained-objects": rows(ALL, {})
    + rows("main dotnet", {"min_bytes": "1000", "limit": "5"})
    + rows("main dotnet", {"min_bytes": "-1", "limit": "1000"}),
    "retained-types": rows(ALL, {})
    + rows("main dotnet", {"min_bytes": "1000"})
    + rows("dotnet", NO_LIMIT),
    "instances-by-root-path": rows(
        "main", *({"type": name} for name in (ITEM, "App.Node", WINDOW, "App.Tree"))
    )
    + rows("domains trace", OF_SESSION)
    + rows("dotnet", {"type": WINDOW, "limit": "1"})
    + nothing("dart", OF_SESSION),
    "script-functions": rows("v8", {}, FIRST) + nothing("main", {}),
    "sliced-strings": rows("v8", {}, FIRST) + nothing("main", {}),
    "thread-local-values": rows("python", {}, TWO) + nothing("main", {}),
    "subtypes": rows(
        "jvm",
        *({"type": f"java.lang.{name}"} for name in ("Object", "ref.Reference")),
        {"type": "java.lang.Object", "limit": "3"},
        {"type": "android.app.Activity"},
    )
    + nothing("jvm", {"type": "Nosuch"})
    + nothing("main", {"type": ITEM}),
    "type-totals": rows("main", {"type": ITEM}, {"type": "App.Tree"})
    + rows("domains trace", OF_SESSION)
    + rows("dotnet", {"type": WINDOW})
    + nothing("main", {"type": "Nosuch"}),
    "root-path-tree": rows(ALL, {}) + rows("main", {"limit": "5"}),
    "root-paths-of-type": rows(
        "main",
        *({"type": name} for name in (ITEM, "App.Node", WINDOW, "App.Tree")),
        {"type": "Listener"},
        {"type": ITEM, "instances": "2"},
    )
    + rows("main domains trace", OF_SESSION)
    + rows("dotnet", {"type": WINDOW})
    + nothing("dart", OF_SESSION),
    "bitmaps": rows("jvm", {}, FIRST) + nothing("main dart", {}),
    "class-loaders": rows("jvm", {}, TWO) + nothing("main dart", {}),
    "destroyed-components": rows("jvm", {}, TWO) + nothing("main dart", {}),
    "held-by-strength": rows("jvm", {}, TWO) + nothing("trace", {}),
    "repeated-classes": rows("jvm", {}) + nothing("main dart", {}),
    "spaces": rows("jvm", {}) + nothing("main dart", {}),
    "threads": rows("jvm", {}, TWO) + nothing("main dart", {}),
    "boxed-numbers": rows("jvm", {}, TWO) + nothing("main trace", {}),
    "collections": rows("jvm", {}, TWO, {"nodes": "", "pattern": ".*List|.*Map"})
    + nothing("main trace", {}),
    "colliding-keys": rows("jvm", {}, {"min_chain": "1"}, FIRST)
    + nothing("jvm", {"min_chain": "6"})
    + nothing("main", {}),
    "java-finalizers": rows("jvm", {}) + nothing("main dart", {}),
    "sparse-arrays": rows("jvm", {}, {"max_fill": "0.6", "min_length": "8"}, TWO)
    + nothing("trace", {}),
    "thread-locals": rows("jvm", {}, TWO) + nothing("main dart", {}),
    "roots-by-kind": rows(ALL, {}) + rows("main", TWO),
    "segments": rows("main dotnet", {}) + rows("main", FIRST) + nothing("dart", {}),
    "shared-by": rows("main", {})
    + rows(ALL, {"min_bytes": "0", "limit": "1000"})
    + rows("main", {"min_bytes": "60", "limit": "2"})
    + nothing("dart", {}),
    "shortest-root-path": rows("dart", *at(*DART))
    + rows("main", *at("0x100", "0x110", "0x120", "0x140", "0x216", "0x306", "0x800"))
    + rows("main", *at("0x141", "0x201", "0x733", "0x910", "0x113", "0x801"))
    + rows("domains", *at("0x110", "0x113"))
    + rows("lattice", *at("0x80"))
    + nothing("main", *at("0x700", "0x803", "0x910a")),
    "single-type-chains": rows("main dotnet", {})
    + rows("main dart", {"min_bytes": "0"})
    + rows("main dotnet", {"min_bytes": "0", "min_length": "2", "limit": "100"})
    + nothing("domains", {}),
    "sole-references": rows("main dotnet", {})
    + rows(ALL, {"min_bytes": "0", "limit": "1000"})
    + nothing("dart", {}),
    "static-roots": rows("main domains dart dotnet", {})
    + rows("main", TWO)
    + nothing("trace", {}),
    "string-duplicates": rows("main dotnet", {})
    + rows("dotnet", {"min_count": "3"})
    + nothing("main", {"min_count": "3"})
    + nothing("dotnet", {"type": "App.UI.Extra"})
    + nothing("dart", {}),
    "strings": rows("jvm dart", {})
    + rows("dart", {"min_count": "1", "limit": "100"}, {"min_count": "3"})
    + nothing("main", {}),
    "survivors-of-dump": rows("trace", {}, TWO)
    + nothing("trace", NOBODY)
    + nothing("main", {}),
    "survivors-of-three": rows("trace", {}, FIRST)
    + nothing("trace", {"second": "none of that name"})
    + nothing("main", {}),
    "thread-statics": rows("dotnet", {}, FIRST) + nothing("main", {}),
    "timers": rows("main dotnet", {"pattern": ".*Timer", "skip": "-"})
    + rows("dotnet", {}, FIRST)
    + nothing("main", {}),
    "type-histogram": rows(ALL, {}) + rows("dotnet", NO_LIMIT),
    "type-references": rows(ALL, {})
    + rows("main dotnet", NO_LIMIT)
    + rows("main domains trace", OF_SESSION)
    + nothing("main", {"type": "-"}),
    "type-tree": rows(ALL, {}) + rows("main", {"limit": "5"}),
    "unreachable-types": rows(ALL, {}) + rows("main", TWO),
    "walk": rows("main dotnet", {}, {"segment": "1"})
    + rows("main", {"start": "0x110", "limit": "3"})
    + nothing("main", {"segment": "9"})
    + nothing("dart", {}),
    "warnings": rows("main domains dotnet", {}) + nothing("dart", {}),
    "weakly-held": rows("main dart dotnet", {})
    + rows("main", TWO)
    + nothing("trace", {}),
}
EACH = [
    Case(query, heap, given, answered)
    for query, asked in CASES.items()
    for heap, given, answered in asked
]
