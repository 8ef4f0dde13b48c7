"""First sentences for objects of Java libraries that hold one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.suspects.test_java_leaks import Program

if TYPE_CHECKING:
    from pathlib import Path


def grouped(count: int) -> Program:
    """A flow with so many open groups, each of which has its seat in an array."""
    shop = Program()
    shop.cls("lib/Group", "seat", "queue")
    shop.cls("lib/FlatMap$Seat", "group", "total")
    shop.cls("[Llib/FlatMap$Seat;")
    shop.cls("lib/GroupBy", "groups")
    shop.cls("lib/FlatMap", "seats")
    groups, seats = [], []
    for at in range(count):
        place = 0x9000000 + 4096 * at
        groups.append(
            shop.dump.obj(place, "lib/Group", seat=place + 2048, queue=shop.data(900))
        )
        seats.append(
            shop.dump.obj(
                place + 2048, "lib/FlatMap$Seat", group=place, total=shop.data(300)
            )
        )
    flow = shop.make("lib/GroupBy", groups=shop.map_of(groups))
    array = shop.array("[Llib/FlatMap$Seat;", seats)
    shop.main(FLOW=flow, MERGED=shop.make("lib/FlatMap", seats=array))
    return shop


def test_objects_that_refer_to_one_another_are_held_by_what_is_outside(
    tmp_path: Path,
) -> None:
    (found,) = grouped(400).found(tmp_path).suspects

    assert found.sentence.startswith("400 Group (")
    assert set(found.cut.split(" and ")) == {
        "GroupBy.groups -> HashMap",
        "FlatMap.seats -> FlatMap$Seat[]",
    }
    assert found.sentence.endswith("; to clear only one of these frees nothing.")


def test_one_object_that_refers_back_is_a_place(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("app/Page", "owner", "text")
    shop.cls("app/Screen", "page")
    pages = []
    for at in range(400):
        place, owner = 0x9000000 + 4096 * at, 0x8000000 if not at else 0
        pages.append(shop.dump.obj(place, "app/Page", owner=owner, text=shop.data(900)))
    screen = shop.dump.obj(0x8000000, "app/Screen", page=pages[0])
    shop.main(SCREEN=screen, PAGES=shop.map_of(pages))
    (found,) = shop.found(tmp_path).suspects

    assert found.cut == "static field Main.PAGES -> HashMap"


def test_a_nested_class_of_what_is_called_a_map_is_none(tmp_path: Path) -> None:
    shop = Program()
    shop.cls("lib/FlatMap$Seat", "total")
    shop.cls("[Llib/FlatMap$Seat;")
    seats = [shop.make("lib/FlatMap$Seat", total=shop.data(300)) for _ in range(400)]
    shop.cls("lib/FlatMap", "seats")
    array = shop.array("[Llib/FlatMap$Seat;", seats)
    shop.main(MERGED=shop.make("lib/FlatMap", seats=array))
    (found,) = shop.found(tmp_path).suspects

    assert found.pattern == "list"
