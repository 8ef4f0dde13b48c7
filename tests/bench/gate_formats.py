"""The programs of `tests.dumps.programs` as dumps of other formats than gclog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import model
from tests.bench.answers.formats import WRITERS
from tests.dumps.hprof import OBJECT, SYSTEM_CLASS, jdk
from tests.dumps.programs import FINALIZER, HANDLE, LOCAL, STATIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.dumps.programs import Program

_KINDS = {
    LOCAL: model.LOCAL,
    FINALIZER: model.FINALIZER,
    HANDLE: model.HANDLE,
    STATIC: model.STATIC,
}
_JNI_GLOBAL, _JAVA_FRAME = 1, 3


def writer(form: str) -> Callable[[Program], bytes]:
    """What writes a program as a dump of a format, its objects in a new order."""
    if form == "hprof":
        return _hprof
    named = _dart_name if form == "dartheap" else str

    def written(program: Program) -> bytes:
        heap = _heap(program, named)
        if form == "clrprofiler":
            # It records no statics, but the runtime's table of them.
            held = [root.object for root in heap.roots if root.kind == model.STATIC]
            table = heap.add("System.Object[]", 16 + 8 * len(held), held)
            heap.root(table, model.PINNED)
        return WRITERS[form](heap)

    return written


def _order(program: Program) -> list[int]:
    """The objects as a collector may have left them."""
    order = list(range(len(program.objects)))
    program.now.shuffle(order)
    return order


def _heap(program: Program, named: Callable[[str], str]) -> model.Heap:
    order, heap = _order(program), model.Heap()
    place = {number: row for row, number in enumerate(order)}
    for number in order:
        name, size, held = program.objects[number]
        heap.add(named(name), size, [place[target] for target in held])
    for number, kind, owner in program.roots:
        declaring = named(owner) if kind == STATIC else ""
        heap.root(place[number], _KINDS[kind], declaring, "value" if declaring else "")
    return heap


def _dart_name(name: str) -> str:
    """The type that a Dart program would have."""
    for begin, found in (
        ("System.Collections.Generic.List`1", "dart:core::_GrowableList"),
        ("System.String", "dart:core::_OneByteString"),
        ("System.Action", "dart:core::_Closure"),
    ):
        if name.startswith(begin) and not name.endswith("[]"):
            return found
    if name.startswith("System.Collections.Generic.Dictionary`2"):
        is_table = "+Entry" in name
        return "dart:core::_List" if is_table else "dart:_compact_hash::_Map"
    if name.endswith("[]"):
        return "dart:core::_List"
    return f"package:shop/shop.dart::{name.rpartition('.')[2]}"


def _java_name(name: str) -> str:
    """The class that a Java program would have, as HPROF spells it."""
    if name.endswith("[]"):
        inner = _java_name(name.removesuffix("[]"))
        return f"[L{inner};"
    for begin, found in (
        ("System.Collections.Generic.List`1", "java/util/ArrayList"),
        ("System.String", "java/lang/String"),
        ("System.Object", "java/lang/Object"),
        ("System.Action", "java/lang/Runnable"),
    ):
        if name.startswith(begin):
            return found
    if name.startswith("System.Collections.Generic.Dictionary`2"):
        return "java/util/HashMap$Node" if "+Entry" in name else "java/util/HashMap"
    return name.replace("System.Threading", "java/util/concurrent").replace(".", "/")


def _hprof(program: Program) -> bytes:
    """Static fields in classes of their own; arrays as arrays, all else with fields."""
    dump = jdk()
    base, known = 0x100_0000 + 16 * program.now.randrange(1000), 0x8000
    address = {number: base + 64 * row for row, number in enumerate(_order(program))}
    names = [_java_name(name) for name, _, _ in program.objects]
    most: dict[str, int] = {}
    for name, (_, _, held) in zip(names, program.objects, strict=True):
        most[name] = max(most.get(name, 0), len(held))
    for name, count in most.items():
        if name not in dump.classes:
            known += 16
            fields = {} if name.startswith("[") else _fields(count)
            dump.cls(name, known, "java/lang/Object", fields)
    statics: dict[str, dict[str, tuple[int, float]]] = {}
    for number, kind, owner in program.roots:
        if kind == STATIC:
            of = statics.setdefault(f"{owner.replace('.', '/')}Statics", {})
            of[f"value{len(of)}"] = (OBJECT, address[number])
    for name, values in statics.items():
        known += 16
        dump.cls(name, known, "java/lang/Object", statics=values)
        dump.root(SYSTEM_CLASS, known)
    dump.segment()
    for number, at in address.items():
        name, held = names[number], [address[t] for t in program.objects[number][2]]
        if name.startswith("["):
            dump.array(at, name, held)
        elif name == "java/lang/String":
            dump.obj(at, name)
        elif name == "java/util/HashMap":
            dump.obj(at, name, table=held[-1])
        else:
            given = dict(zip(_fields(most[name]), held, strict=False))
            dump.obj(at, name, **given)
    for number, kind, _ in program.roots:
        if kind == HANDLE:
            dump.root(_JNI_GLOBAL, address[number], 99)
        elif kind == LOCAL:
            dump.root(_JAVA_FRAME, address[number], 5, 0)
    return dump.bytes()


def _fields(count: int) -> dict[str, int]:
    return {f"field{row}": OBJECT for row in range(count)}
