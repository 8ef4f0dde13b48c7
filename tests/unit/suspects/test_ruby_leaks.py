"""Suspects of Ruby programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.suspects.find import find_suspects
from tests.dumps.ruby import ARRAY, HASH, MODULE, OBJECT, PROC, STRING, RubyHeap

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.suspects.suspect import Suspect

_MANY = 400


def suspects_of(heap: RubyHeap, folder: Path) -> tuple[Suspect, ...]:
    path = folder / "x.json"
    path.write_bytes(heap.bytes())
    with open_source(str(path)) as source:
        graph = read(source, ReadOptions(), silent)
    return tuple(find_suspects(graph, analyse(graph)).suspects)


def suspect_of(heap: RubyHeap, folder: Path) -> Suspect:
    (found,) = suspects_of(heap, folder)
    return found


def test_the_packages_of_a_program_are_no_suspect(tmp_path: Path) -> None:
    heap = RubyHeap().root("vm", OBJECT, 0x2000).core()
    heap.module(0x2000, "Gem", 0x2100, 0x2200, of=MODULE, kind="MODULE")
    heap.module(0x2100, "Gem::Specification", OBJECT, 0x3000)
    heap.module(0x2200, "Shop::Order", OBJECT, 0x3100)
    for array, of, first in ((0x3000, 0x2100, 0x10000), (0x3100, 0x2200, 0x80000)):
        held = [first + 64 * at for at in range(_MANY)]
        heap.obj(array, "ARRAY", ARRAY, *held, length=_MANY)
        for one in held:
            heap.obj(one, "OBJECT", of, memsize=600)

    assert suspect_of(heap, tmp_path).sentence.startswith("400 Order (")


def test_blocks_that_run_at_the_end_are_named(tmp_path: Path) -> None:
    heap = RubyHeap().root("vm", OBJECT).core()
    blocks = [0x10000 + 64 * at for at in range(_MANY)]
    heap.root("end_proc", *blocks)
    heap.module(0x2000, "Shop::Client", OBJECT)
    heap.module(0x2100, "Proc", OBJECT)
    for block in blocks:
        heap.obj(block, "DATA", 0x2100, block + 0x80000, struct="proc")
        heap.obj(block + 0x80000, "OBJECT", 0x2000, memsize=600)

    found = suspect_of(heap, tmp_path)

    assert found.root_name == "blocks of at_exit"
    assert " by the Ruby virtual machine (blocks of at_exit)." in found.sentence


def test_a_word_on_a_stack_is_no_local_variable(tmp_path: Path) -> None:
    heap = RubyHeap().root("vm", OBJECT, 0x2000).root("machine_context", 0x3000).core()
    heap.module(0x2000, "Shop", 0x3000, of=MODULE, kind="MODULE")
    heap.module(0x2100, "Shop::Order", OBJECT)
    orders = [0x10000 + 64 * at for at in range(_MANY)]
    heap.obj(0x3000, "ARRAY", ARRAY, *orders, length=_MANY)
    for order in orders:
        heap.obj(order, "OBJECT", 0x2100, memsize=600)

    found = suspect_of(heap, tmp_path)

    assert ", and meanwhile by the stack of a thread." in found.sentence


@pytest.mark.parametrize("count", [3, 12])
def test_all_threads_that_one_cut_frees_are_counted_but_for_a_pool(
    count: int, tmp_path: Path
) -> None:
    threads = [0x10000 + 64 * at for at in range(count)]
    heap = RubyHeap().root("vm", OBJECT, 0x2000, 0x4000).core()
    heap.module(0x2000, "Shop", 0x3000, of=MODULE, kind="MODULE")
    heap.module(0x2100, "Thread", OBJECT)
    heap.module(0x2200, "Ractor", OBJECT)
    heap.obj(0x3000, "ARRAY", ARRAY, *threads, length=count)
    heap.obj(0x4000, "DATA", 0x2200, *threads, 0x4100, struct="ractor")
    heap.obj(0x4100, "DATA", 0x2100, struct="VM/thread")  # the main one
    for thread in threads:
        heap.obj(thread, "DATA", 0x2100, memsize=1 << 20, struct="VM/thread")

    found = suspects_of(heap, tmp_path)

    assert len(found) == (count > 3)
    for one in found:
        assert one.sentence.startswith("12 Thread (12.0 MiB, ")
        assert one.advice.startswith("To free them, end the threads: ")


def main_thread_has(index: int) -> RubyHeap:
    """A program whose main thread has an object, and listeners in an array, 0x4300."""
    heap = RubyHeap().root("vm", OBJECT, 0x4000).core()
    heap.module(0x2100, "Thread", OBJECT)
    heap.module(0x2200, "Ractor", OBJECT)
    heap.module(0x2400, "Listener", OBJECT)
    heap.obj(0x4000, "DATA", 0x2200, 0x4100, struct="ractor")
    heap.obj(0x4100, "DATA", 0x2100, index, struct="VM/thread")
    listeners = [0x10000 + 64 * at for at in range(_MANY)]
    heap.obj(0x4300, "ARRAY", ARRAY, *listeners, length=_MANY)
    for one in listeners:
        heap.obj(one, "OBJECT", 0x2400, memsize=600)
    return heap


def test_a_variable_of_a_thread_is_not_held_by_the_virtual_machine(
    tmp_path: Path,
) -> None:
    heap = main_thread_has(0x4200)
    heap.module(0x2300, "Warehouse", OBJECT)
    heap.obj(0x4200, "OBJECT", 0x2300, 0x4300)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.endswith(" are held in a list by Warehouse, from a thread.")
    assert found.cut == "Warehouse -> Array"


def test_what_only_a_thread_has_is_held_by_it(tmp_path: Path) -> None:
    found = suspect_of(main_thread_has(0x4300), tmp_path)

    assert " are held in a list by a thread." in found.sentence
    assert found.cut == "a thread -> Array"


@pytest.mark.parametrize(
    ("module", "is_found"), [("Prices", True), ("URI", False), ("Gem", False)]
)
def test_what_a_class_of_the_program_has_is_no_metadata(
    module: str, tmp_path: Path, *, is_found: bool
) -> None:
    heap = RubyHeap().root("vm", OBJECT, 0x2000).core()
    heap.module(0x2000, module, 0x3000, of=MODULE, kind="MODULE")
    held = [0x10000 + 64 * at for at in range(_MANY)]
    heap.obj(0x3000, "ARRAY", ARRAY, *held, length=_MANY)
    for one in held:
        heap.obj(one, "STRING", STRING, memsize=600)

    found = suspects_of(heap, tmp_path)

    told = [one.sentence.startswith("400 String (") for one in found]
    assert told == [True] * is_found


def test_what_a_block_has_in_its_variables_is_no_metadata(tmp_path: Path) -> None:
    heap = RubyHeap().root("vm", OBJECT, 0x2000).core()
    heap.module(0x2000, "Routes", 0x3000, of=MODULE, kind="MODULE")
    held = [0x10000 + 64 * at for at in range(_MANY)]
    heap.obj(0x3000, "DATA", PROC, 0x3100, struct="proc")
    heap.obj(0x3100, "IMEMO", 0, 0x3200, imemo_type="env")
    heap.obj(0x3200, "ARRAY", ARRAY, *held, length=_MANY)
    for one in held:
        heap.obj(one, "STRING", STRING, memsize=600)

    (found,) = suspects_of(heap, tmp_path)

    assert found.sentence.startswith("400 String (")


def test_the_stacks_of_threads_are_told_as_such(tmp_path: Path) -> None:
    heap = RubyHeap().root("vm", OBJECT, 0x3100).core()
    heap.module(0x2000, "Thread", OBJECT)
    heap.module(0x2100, "Shop::Pool", OBJECT)
    threads = [0x10000 + 64 * at for at in range(12)]
    heap.obj(0x3000, "ARRAY", ARRAY, *threads, length=12)
    heap.obj(0x3100, "OBJECT", 0x2100, 0x3000)
    for thread in threads:
        heap.obj(thread, "DATA", 0x2000, struct="VM/thread", memsize=1 << 20)

    (doubt,) = suspect_of(heap, tmp_path).doubts

    assert doubt.endswith("the stack that each thread has of its own, about 1.0 MiB.")


def test_rows_that_have_a_row_each_are_told_not_their_texts(tmp_path: Path) -> None:
    heap = RubyHeap().root("vm", OBJECT, 0x2000).core()
    heap.module(0x2000, "Debugger", 0x3000, of=MODULE, kind="MODULE")
    chunks = [0x10000 + 256 * at for at in range(_MANY)]
    heap.obj(0x3000, "ARRAY", ARRAY, *chunks, length=_MANY)
    for one in chunks:
        heap.obj(one, "HASH", HASH, one + 64, one + 192, memsize=168, size=2)
        heap.obj(one + 64, "HASH", HASH, one + 128, memsize=168, size=1)
        heap.obj(one + 128, "HASH", HASH, memsize=168, size=1)
        heap.obj(one + 192, "STRING", STRING, memsize=80)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith("400 Hash (")
    assert " are held in a list by " in found.sentence


@pytest.mark.parametrize(
    ("kind", "of", "words"), [("HASH", HASH, "map"), ("ARRAY", ARRAY, "list")]
)
def test_collections_in_one_of_their_own_type_are_no_linked_list(
    kind: str, of: int, words: str, tmp_path: Path
) -> None:
    heap = RubyHeap().root("vm", OBJECT, 0x2000).core()
    heap.module(0x2000, "Shop", 0x3000, of=MODULE, kind="MODULE")
    rows = [0x10000 + 64 * at for at in range(_MANY)]
    heap.obj(0x3000, kind, of, *rows, memsize=4000)
    for one in rows:
        heap.obj(one, kind, of, memsize=600)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith(f"{_MANY} {kind.capitalize()} (")
    assert f" are held in a {words} by a class-level variable of " in found.sentence


def test_blocks_of_finalizers_that_are_defined_are_told_as_such(tmp_path: Path) -> None:
    """What has each object is its own, and may have more bytes than the object."""
    heap = RubyHeap().root("vm", OBJECT, 0x2000).core()
    heap.module(0x2000, "Shop::Page", OBJECT)
    tables = [0x10000 + 64 * at for at in range(_MANY)]
    heap.root("finalizers", *tables)
    for at in tables:
        heap.obj(at, "ARRAY", 0, at + 0x10000, length=1)
        heap.obj(at + 0x10000, "DATA", PROC, at + 0x20000, struct="proc", memsize=80)
        heap.obj(at + 0x20000, "OBJECT", 0x2000, memsize=160)

    found = suspect_of(heap, tmp_path)

    what = "the finalizers that are defined (define_finalizer)"
    assert found.sentence.startswith("400 Page (")
    assert found.sentence.endswith(f" by {what}.")
    assert found.cut == f"{what} -> (array)"
    assert any("that it has captured" in sign for sign in found.signs)


def test_versions_that_a_program_has_made_are_told(tmp_path: Path) -> None:
    """The packages of which it is made have a few."""
    heap = RubyHeap().root("vm", OBJECT, 0x2000, 0x2100).core()
    heap.module(0x2000, "Gem::Version", OBJECT)
    heap.module(0x2100, "Updates", 0x3000, of=MODULE, kind="MODULE")
    versions = [0x10000 + 64 * at for at in range(_MANY)]
    heap.obj(0x3000, "ARRAY", ARRAY, *versions, length=_MANY)
    for at in versions:
        heap.obj(at, "OBJECT", 0x2000, memsize=160)

    found = suspect_of(heap, tmp_path)

    assert found.sentence.startswith("400 Version (")
