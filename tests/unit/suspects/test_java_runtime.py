"""Sentences about what the Java runtime itself has beside a program's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
