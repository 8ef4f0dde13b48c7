"""A fleet of small programs' dumps, of which it is known what leaks since when."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tests.dumps.gclog import Gclog

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = ("1.0", "2.0", "2.1")
LABELS = "{service}/{version}/{host}-{time}.gclog"


@dataclass(frozen=True)
class Leak:
    """A leak of a program.

    Attributes:
        type: What accumulates.
        holder: In a static list of this type.
        since: Index of the version that brought it.
    """

    type: str
    holder: str
    since: int


PROGRAMS = {
    "shop": (Leak("Shop.Cart", "Shop.Sessions", 0),
             Leak("Shop.Receipt", "Shop.Printer", 1)),
    "mail": (Leak("Mail.Draft", "Mail.Outbox", 0),),
    "maps": (Leak("Maps.Tile", "Maps.TileCache", 2),),
    "auth": (Leak("Auth.Token", "Auth.Registry", 1),),
}  # fmt: skip


def dump(program: str, version: int, steps: int, seed: int, live: int = 300) -> bytes:
    """A dump of a program after so many steps, each of which leaks ten objects."""
    random = Random(seed)
    log = Gclog().domain(f"{program}.exe", clock=1)
    leaks = PROGRAMS[program]
    kinds = ["System.String", "System.Object[]", f"{program.title()}.Worker"]
    kinds += [name for leak in leaks for name in (leak.type, leak.holder)]
    for number, name in enumerate(kinds, start=1):
        log.type(number, name)
    at = 0x1000 * random.randrange(1, 1000)

    def new(kind: int, size: int, references: tuple[int, ...] = ()) -> int:
        nonlocal at
        at += 0x100
        log.object(at, kind, size, references)
        return at

    workers = [new(3, 64, (new(1, 24 + 8 * random.randrange(8)),)) for _ in range(live)]
    log.root(new(2, 16 + 8 * live, tuple(workers)), 4, container=3)
    for number, leak in enumerate(leaks):
        kind = 4 + 2 * number
        count = 10 * steps if version >= leak.since else 1
        leaked = [new(kind, 400, (new(1, 200),)) for _ in range(count)]
        array = new(2, 16 + 8 * len(leaked), tuple(leaked))
        log.root(array, 4, container=kind + 1)
    return log.close(f"{program}.exe", clock=2).bytes()


def write_fleet(folder: Path, dumps: int, seed: int = 1, live: int = 300) -> list[Path]:
    """Write dumps of all programs and versions by turns, at paths like `LABELS`."""
    random, written = Random(seed), []
    for number in range(dumps):
        program = list(PROGRAMS)[number % len(PROGRAMS)]
        version = number // len(PROGRAMS) % len(VERSIONS)
        host = f"host{random.randrange(8)}"
        hour = number // (len(PROGRAMS) * len(VERSIONS))
        moment = f"202611{1 + hour // 24:02}T{hour % 24:02}{number % 60:02}00"
        path = folder / program / VERSIONS[version] / f"{host}-{moment}.gclog"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dump(program, version, 5 + 2 * hour, seed + number, live))
        written.append(path)
    return written
