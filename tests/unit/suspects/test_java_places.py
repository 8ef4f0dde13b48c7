"""First sentences for values of thread-locals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.suspects.test_java_leaks import Threads

if TYPE_CHECKING:
    from pathlib import Path

_MAP = "java/lang/ThreadLocal$ThreadLocalMap"
_ENTRY = f"{_MAP}$Entry"


def test_the_field_of_an_object_names_its_thread_local(tmp_path: Path) -> None:
    """Each searcher has one, and its values refer to the searcher."""
    shop = Threads()
    shop.cls("java/lang/ThreadLocal")
    shop.cls(_MAP, "table")
    shop.cls(_ENTRY, "value", above="java/lang/ref/WeakReference")
    shop.cls(f"[L{_ENTRY};")
    shop.cls("java/lang/CarrierThread", "table", above="java/lang/Thread")
    shop.cls("app/Searcher", "scratch")
    shop.cls("app/Scratch", "owner", "data")
    for number in range(1, 5):
        entries = []
        for _ in range(100):
            local = shop.make("java/lang/ThreadLocal")
            owner = shop.make("app/Searcher", scratch=local)
            scratch = shop.make("app/Scratch", owner=owner, data=shop.data(500))
            entries.append(shop.make(_ENTRY, referent=local, value=scratch))
        table = shop.make(_MAP, table=shop.array(f"[L{_ENTRY};", entries))
        shop.thread(number, 0, table)
    shop.main()
    (found,) = shop.found(tmp_path).suspects

    assert found.sentence.startswith("400 Scratch (")
    assert found.sentence.endswith(
        " by ThreadLocal Searcher.scratch, from threads exec-#."
    )
    assert found.cut == "ThreadLocal Searcher.scratch -> Scratch"
