"""Dumps of programs whose names R8 or ProGuard has shortened, with their mappings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.errors import DumpError
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.shared.original_names import OriginalNames
from tests.dumps.gclog import large_gclog
from tests.dumps.hprof import INT, OBJECT, THREAD_OBJECT, Hprof

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.heap.graph import HeapGraph
    from tests.conftest import Ran

ORIGINAL = {
    "Order": "app/Order", "Cart": "app/Cart", "lines": "lines", "next": "next",
    "count": "count", "open": "open", "run": "run", "sum": "sum",
}  # fmt: skip
FIRST = {
    "Order": "a/b", "Cart": "a/a", "lines": "a", "next": "b", "count": "a", "open": "b",
    "run": "a", "sum": "a",
}  # fmt: skip
SECOND = {
    "Order": "x/q", "Cart": "x/z", "lines": "e", "next": "f", "count": "g", "open": "h",
    "run": "i", "sum": "j",
}  # fmt: skip


def program(names: dict[str, str]) -> bytes:
    """A list of orders in a static field of their class, and a thread in `Cart.run`."""
    dump = Hprof()
    dump.cls("java/lang/Object", 0x10)
    dump.cls("java/lang/Thread", 0x11, "java/lang/Object", {"name": OBJECT})
    order, cart = names["Order"], names["Cart"]
    declared = {names["lines"]: OBJECT, names["next"]: OBJECT}
    dump.cls(order, 0x20, "java/lang/Object", declared)
    dump.cls(
        cart, 0x21, "java/lang/Object", {names["count"]: INT},
        statics={names["open"]: (OBJECT, 0x100), names["run"] + "1": (INT, 7)},
    )  # fmt: skip
    dump.cls(f"[L{order};", 0x22, "java/lang/Object")
    for number in range(3):
        at = 0x100 + 0x20 * number
        dump.obj(at, order, **{names["next"]: at + 0x20 if number < 2 else 0x200})
    dump.array(0x200, f"[L{order};", [0x120])
    dump.obj(0x300, cart, **{names["count"]: 2})
    dump.obj(0x400, "java/lang/Thread")
    dump.frame(0x501, cart, names["run"], 3)
    dump.frame(0x502, order, names["run"], 0)
    dump.trace(7, 5, [0x501, 0x502])
    dump.root(THREAD_OBJECT, 0x400, 5, 7)
    dump.root(3, 0x300, 5, 0)
    dump.root(5, 0x21)
    return dump.bytes()


def mapping(names: dict[str, str], build: str = "") -> str:
    """What R8 writes of the program; the cart's source file is Kotlin."""
    dotted = {name: short.replace("/", ".") for name, short in names.items()}
    run = dotted["run"]
    head = f"# compiler: R8\n# pg_map_id: {build}\n" if build else ""
    return f"""{head}app.Cart -> {dotted["Cart"]}:
# {{"id":"sourceFile","fileName":"Cart.kt"}}
    int count -> {dotted["count"]}
    app.Order open -> {dotted["open"]}
    int seven -> {run}1
    2:4:int app.Order.sum(int):20:22 -> {run}
    2:4:void run():9 -> {run}
    5:9:void other():30:34 -> {run}
app.Order -> {dotted["Order"]}:
    java.util.List lines -> {dotted["lines"]}
    app.Order next -> {dotted["next"]}
    void run() -> {run}
    void reset() -> {run}
"""


def reading(folder: Path, content: bytes, mapped: str | None) -> HeapGraph:
    path, names = folder / "dump.hprof", folder / "mapping.txt"
    path.write_bytes(content)
    if mapped is not None:
        names.write_text(mapped, encoding="utf-8")
    options = ReadOptions(mapping=None if mapped is None else str(names))
    with open_source(str(path)) as source:
        return read(source, options, silent)


def shown(graph: HeapGraph) -> list[object]:
    """All names of a heap."""
    assert graph.stacks is not None
    return [graph.type_names, graph.field_names, graph.stacks.frames]


@pytest.mark.parametrize("names", [FIRST, SECOND], ids=["first", "second"])
def test_names_are_as_if_they_had_never_been_shortened(
    names: dict[str, str], tmp_path: Path
) -> None:
    original = reading(tmp_path, program(ORIGINAL), None)

    graph = reading(tmp_path, program(names), mapping(names))

    assert {"app.Order", "app.Order[]", "app.Cart"} <= set(graph.type_names)
    assert {"next", "open"} <= set(graph.field_names)
    assert shown(graph)[:2] == shown(original)[:2]
    assert graph.stacks is not None
    assert list(graph.stacks.frames) == [
        "app.Order.sum(Order.java:21), inlined into app.Cart.run(Cart.kt:9)",
        "app.Order.reset|run(Order.java)",
    ]


def test_the_mapping_of_another_build_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"belongs to another program or build: it"):
        reading(tmp_path, program(FIRST), mapping(SECOND))
    swapped = {**FIRST, "lines": "k", "next": "l", "count": "m", "open": "n"}
    with pytest.raises(DumpError, match=r"another build: it knows 1 of the 5 fields"):
        reading(tmp_path, program(FIRST), mapping(swapped))


def test_a_build_that_the_frames_name_is_compared(tmp_path: Path) -> None:
    data = program(FIRST)
    source = f"{FIRST['Cart'].rpartition('/')[2]}.java".encode()
    named = b"r8-map-id-0af3"
    # A name of another length: its record is written anew.
    at = data.index(source) - 8
    head = data[: at - 4] + (8 + len(named)).to_bytes(4, "big")
    data = head + data[at : at + 8] + named + data[at + 8 + len(source) :]

    assert reading(tmp_path, data, mapping(FIRST, "0af3c1")).object_count
    with pytest.raises(DumpError, match="build 99ff, and the dump is of build 0af3"):
        reading(tmp_path, data, mapping(FIRST, "99ff"))


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 100, b"hello\n", b" -> :\n", b"a -> b", b"# app.A -> a:\n"],
)
def test_what_is_no_mapping_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "mapping.txt"
    path.write_bytes(content)

    with pytest.raises(DumpError, match=r"--mapping takes a mapping\.txt"):
        OriginalNames(path)
    with pytest.raises(DumpError, match="cannot be read"):
        OriginalNames(tmp_path / "none")


def test_hostile_lines_are_passed_over(tmp_path: Path) -> None:
    lines = [
        "app.A -> a:",
        "    1:2:void app.A.x():1:2 -> b",  # inlined into itself
        "    1:2:void app.A.x():3:4 -> b",
        "    99999999999:1:void y():1:2 -> b",
        "    int " + "n" * (1 << 17) + " -> c",
        "    int \x1b]0;title\x07 -> d",
        "    int e -> ",
        "\u202e",
        "app.B -> a:",
        "    int two -> f",
    ]
    path = tmp_path / "mapping.txt"
    path.write_text("\r\n".join(lines), encoding="utf-8")

    names = OriginalNames(path)

    assert names.class_name("a[][]") == "app.A|app.B[][]"
    assert names.class_name("a$$Lambda/0x12") == "app.A|app.B$$Lambda/0x12"
    assert names.class_name("b") == "b"
    assert names.field_name("a", "f", INT) == "two"
    assert names.field_name("a", "f", OBJECT) is None
    assert len(names.frames("a", "b", "A.java", 1)) == 2
    assert names.frames("a", "none", "A.java", 1) == ["app.A|app.B.none(B.java:1)"]
    assert names.frames("z", "b", "Z.java", -1) == ["z.b(Z.java)"]


def test_the_mapping_of_a_build_is_taken(
    tmp_path: Path, ingest: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGEST_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        "[[builds]]\ndumps = 'shop-{build}.*'\nmapping = '{build}/mapping.txt'\n"
    )
    for build, names in (("1.4", FIRST), ("1.5", SECOND)):
        (tmp_path / f"shop-{build}.hprof").write_bytes(program(names))
        (tmp_path / "config" / build).mkdir()
        path = tmp_path / "config" / build / "mapping.txt"
        path.write_text(mapping(names), encoding="utf-8")
        told = ingest("info", str(tmp_path / f"shop-{build}.hprof"), "--json")[1]
        assert "app.Order" in told
        assert names["Order"].replace("/", ".") not in told
    log = tmp_path / "shop-1.6.gclog"
    log.write_bytes(large_gclog(10, 10))
    assert ingest("info", str(log))[0] == 0, "a format without such names"

    given = str(tmp_path / "config" / "1.5" / "mapping.txt")
    dump = str(tmp_path / "shop-1.4.hprof")
    assert ingest("info", dump, "--mapping", given)[0] == 3
    path.unlink()
    code, _, said = ingest("info", str(tmp_path / "shop-1.5.hprof"))
    assert (code, "cannot be read" in said) == (3, True)


def test_other_formats_have_none(tmp_path: Path) -> None:
    path = tmp_path / "x.gclog"
    path.write_bytes(large_gclog(10, 10))
    with (
        open_source(str(path)) as source,
        pytest.raises(DumpError, match=r"gclog.*leave out --mapping"),
    ):
        read(source, ReadOptions(mapping="mapping.txt"), silent)
