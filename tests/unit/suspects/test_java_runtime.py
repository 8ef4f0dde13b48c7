"""Sentences about what the Java runtime itself has beside a program's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.analysis.metrics import analyse
from tests.dumps.hprof import INT, JNI_GLOBAL, OBJECT
from tests.unit.suspects.test_evidence import graph_of
from tests.unit.suspects.test_java_leaks import Program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("app/PluginClassLoader", True),
        ("org/library/ByteArrayClassLoader", True),
        ("java/net/URLClassLoader", True),
        ("sun/reflect/DelegatingClassLoader", False),
        ("jdk/internal/loader/ClassLoaders$AppClassLoader", False),
    ],
)
def test_class_loaders_of_the_program_pile_up(
    name: str, is_own: bool, tmp_path: Path
) -> None:
    """Those of the runtime are its own data."""
    shop = Program()
    shop.cls("java/lang/ClassLoader", "parent")
    shop.cls(name, "words", above="java/lang/ClassLoader")
    loaders = [shop.make(name, words=shop.data(900)) for _ in range(300)]
    shop.main(FACTORIES=shop.map_of(loaders))
    suspects = shop.found(tmp_path).suspects

    caption = name[name.rindex("/") + 1 :]
    sentences = [found.sentence for found in suspects]
    assert any(one.startswith(f"300 {caption} (") for one in sentences) == is_own


def test_what_values_of_a_weak_map_have_may_hold_its_keys(tmp_path: Path) -> None:
    """As methods, which refer to their class."""
    shop = Program()
    node = "java/util/WeakHashMap$Entry"
    shop.cls(node, "value", above="java/lang/ref/WeakReference")
    shop.cls("java/util/WeakHashMap", "table")
    shop.cls("app/Method", "type", "data")
    shop.cls("app/Type")
    nodes = []
    for _ in range(300):
        key = shop.make("app/Type")
        method = shop.make("app/Method", type=key, data=shop.data(500))
        nodes.append(shop.make(node, value=shop.map_of([method]), referent=key))
    table = shop.array("[Ljava/lang/Object;", nodes)
    shop.main(METHODS=shop.make("java/util/WeakHashMap", table=table))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("300 Method (")
    assert found.signs == (
        "The values of the weak map refer to their own keys, so no entry ever goes.",
    )


@pytest.mark.parametrize("is_archive", [True, False])
def test_what_a_jvm_has_in_its_archive_is_no_suspect(
    is_archive: bool, tmp_path: Path
) -> None:
    """Its table also has classes that the program has not used, and no dump has."""
    shop = Program()
    shop.cls("app/Info", "days")
    items = [shop.make("app/Info", days=shop.data(900)) for _ in range(300)]
    unused = [0x9000_0000 + 16 * number for number in range(40 * is_archive)]
    table = shop.array("[Ljava/lang/Object;", items + unused)
    shop.dump.root(JNI_GLOBAL, table, 0)

    assert bool(shop.found(tmp_path).suspects) is not is_archive


def of_reflection(shop: Program, of: int, *, is_redone: bool = False) -> None:
    """What reflection has found of a class, which a JVM writes without its holder."""
    members = [
        shop.make("java/lang/reflect/Method", clazz=of, name=shop.data(300))
        for _ in range(100)
    ]
    found = shop.array("[Ljava/lang/Object;", members)
    fields = {"publicMethods" if is_redone else "declaredMethods": found}
    data = shop.make("java/lang/Class$ReflectionData", **fields)
    shop.make("java/lang/ref/SoftReference", referent=data)


def test_what_reflection_has_found_of_a_class_is_no_garbage(tmp_path: Path) -> None:
    """The members tell the class; inherited ones do not."""
    garbage = []
    for is_redone in (False, True):
        shop = Program()
        shop.cls("java/lang/reflect/Method", "clazz", "name")
        shop.cls("java/lang/Class$ReflectionData", "declaredMethods", "publicMethods")
        shop.main()
        of_reflection(shop, shop.dump.classes["app/Main"], is_redone=is_redone)
        graph = graph_of(shop.dump, tmp_path)
        metrics = analyse(graph)
        garbage.append(int(graph.shallow_bytes.sum()) - metrics.reachable_bytes)

    assert garbage[0] < 3000  # some classes of the runtime
    assert garbage[1] > 30_000


@pytest.mark.parametrize("has_fillers", [True, False])
def test_arrays_in_gaps_may_be_of_the_collector(
    has_fillers: bool, tmp_path: Path
) -> None:
    """A dump does not tell them from others."""
    shop = Program()
    if has_fillers:
        shop.cls("[Ljdk/internal/vm/FillerElement;")
    for _ in range(50):
        shop.dump.numbers(shop._next(), INT, bytes(4000))
    shop.main(KEPT=shop.data(5000))
    filled = "50 int[], with which the collector also fills gaps"

    assert (filled in shop.found(tmp_path).garbage) == has_fillers


def test_the_class_loaders_of_plug_ins_are_told_with_their_values(
    tmp_path: Path,
) -> None:
    """A cache of types has the classes, and these their loaders and static fields."""
    shop = Program()
    shop.cls("java/lang/ClassLoader", "parent")
    shop.cls("app/PluginLoader$ClassLoader", above="java/lang/ClassLoader")
    shop.cls("java/util/Optional", "value")
    types = []
    for at in range(60):
        loader = shop.make("app/PluginLoader$ClassLoader")
        statics: dict[str, tuple[int, float]] = {"TABLE": (OBJECT, shop.data(900))}
        class_id = 0x7000_0000 + 4096 * at
        shop.dump.loaded(f"plug/Plugin{at}", class_id)
        shop.dump.cls(f"plug/Plugin{at}", class_id, statics=statics, loader=loader)
        types.append(shop.make("java/util/Optional", value=class_id))
    shop.main(TYPES=shop.map_of(types))
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("60 byte[] (")
    of_each = " with 60 PluginLoader$ClassLoader are held in a map by static field "
    assert of_each in found.sentence
