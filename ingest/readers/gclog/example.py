"""The example dump: a small XNA game that leaks, invented but realistic.

``StarMiner`` closes a level by dropping its screen, but every screen has
subscribed to the static event ``GameEvents.ScoreChanged`` and none unsubscribes: the
delegate retains them all. Besides, the heap has what real ones have: a growing cache,
pinned buffers, a finalizer queue, interned strings, weak handles, a linked list,
garbage, two application domains, and a few loose ends.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CLOSED_LEVELS = 24
_INTERNAL, _LOCAL, _FINALIZER, _HANDLE, _STATIC, _RUNTIME = range(6)
_PINNED, _WEAK = 1, 2


@dataclass
class _LineWriter:
    """Lines of a gclog, with ids handed out as the device's allocator would."""

    lines: list[str] = field(default_factory=list)
    types: dict[str, int] = field(default_factory=dict)
    next_id: int = 0x1C15D2

    def type(self, name: str) -> int:
        """Number of a type; its ``t`` line is written on first use."""
        if name not in self.types:
            self.types[name] = len(self.types) + 1
            self.lines.append(f"t {self.types[name]:x} {name}")
        return self.types[name]

    def reserve(self) -> int:
        """An id for an object that is written later."""
        self.next_id += 3
        return self.next_id

    def object(self, name: str, size: int, *to: int, at: int | None = None) -> int:
        """Write an object that refers to ``to``; returns its id."""
        kind = self.type(name)
        number = self.reserve() if at is None else at
        targets = "".join(f" {target:x}" for target in to)
        self.lines.append(f"o {number:x} {kind:x} {size:x}{targets}")
        return number

    def root(self, number: int, kind: int, flags: int = 0, owner: str = "") -> None:
        """Write a root; ``owner`` is the type with the static field."""
        container = f" {self.type(owner):x}" if owner else ""
        self.lines.append(f"r {number:x} {kind:x} {flags:x}{container}")


def example_gclog(closed_levels: int = CLOSED_LEVELS) -> str:
    """The dump's text, the same every time, with bare line feeds.

    Args:
        closed_levels: How long the game has been played.
    """
    chance, later = random.Random(2007), random.Random(2007)
    for _ in range(CLOSED_LEVELS + 1):
        _level(_LineWriter(), later, 0, 0)  # the rest does not depend on the levels
    out = _LineWriter()
    out.lines.append("a 2 StarMiner.exe 763f9d2")
    game = out.reserve()
    font = out.object("Microsoft.Xna.Framework.Graphics.SpriteFont", 0x2C, 0)
    subscribers = [_level(out, chance, game, font) for _ in range(closed_levels)]
    current = _level(out, chance, game, font)
    subscribers.append(current)
    _event(out, subscribers)
    _sound_cache(out, later, 30 + 5 * closed_levels // 2)
    _game(out, game, current, font)
    _loose_ends(out, later, subscribers)
    out.lines.append("c StarMiner.exe 763fbef")
    _script_domain(out)
    return "\n".join(out.lines) + "\n"


def _level(out: _LineWriter, chance: random.Random, game: int, font: int) -> int:
    """A level's screen with its texture, sprites and particles."""
    screen = out.reserve()
    pixels = out.object("System.Byte[]", chance.randrange(24, 40) * 1024)
    texture = out.object("Microsoft.Xna.Framework.Graphics.Texture2D", 0x40, pixels, 0)
    sprites = []
    for _ in range(chance.randrange(30, 60)):
        place = out.object("StarMiner.Placement", 0x1C)
        sprites.append(
            out.object("StarMiner.Sprite", 0x30, texture, place, screen, font)
        )
    array = out.object("StarMiner.Sprite[]", 0x10 + 4 * len(sprites), *sprites)
    items = out.object(
        "System.Collections.Generic.List`1[[StarMiner.Sprite, StarMiner]]", 0x18, array
    )
    particle = 0
    for _ in range(chance.randrange(20, 40)):
        particle = out.object("StarMiner.ParticleNode", 0x20, particle)
    name = out.object("System.String", 0x24)
    return out.object(
        "StarMiner.LevelScreen", 0x60, game, items, particle, name, texture, at=screen
    )


def _event(out: _LineWriter, screens: list[int]) -> None:
    """The static event from which no screen unsubscribes."""
    handler = "StarMiner.ScoreChangedEventHandler"
    delegates = [out.object(handler, 0x20, screen) for screen in screens]
    calls = out.object("System.Object[]", 0x10 + 4 * len(delegates), *delegates)
    event = out.object(handler, 0x20, screens[-1], calls)
    out.root(event, _STATIC, 0, "StarMiner.GameEvents")


def _sound_cache(out: _LineWriter, chance: random.Random, sounds: int) -> None:
    """A dictionary that is never emptied."""
    entries = []
    for _ in range(sounds):
        wave = out.object("System.Byte[]", chance.randrange(1, 5) * 1024)
        sound = out.object("Microsoft.Xna.Framework.Audio.SoundEffect", 0x28, wave)
        key = out.object("System.String", chance.randrange(0x18, 0x40, 4))
        entries += [key, sound]
    table = (
        "System.Collections.Generic.Dictionary`2[[System.String, mscorlib, "
        "Version=2.0.0.0, Culture=neutral],[Microsoft.Xna.Framework.Audio.SoundEffect, "
        "Microsoft.Xna.Framework]]"
    )
    slots = out.object(table + "+Entry[]", 0x10 + 16 * len(entries), *entries)
    cache = out.object(table, 0x34, slots, 0)
    out.root(cache, _STATIC, 0, "StarMiner.Assets")


def _game(out: _LineWriter, game: int, current: int, font: int) -> None:
    """The running game: what the stack and the runtime hold."""
    services = out.object("Microsoft.Xna.Framework.GameServiceContainer", 0x14)
    screens = out.object("System.Object[]", 0x14, current)
    manager = out.object("StarMiner.ScreenManager", 0x28, screens, font)
    out.object("StarMiner.StarMinerGame", 0x80, services, manager, at=game)
    out.root(game, _LOCAL)
    out.root(current, _LOCAL)
    domain = out.object("System.AppDomain", 0x38)
    out.root(domain, _INTERNAL)
    out.root(out.object("System.OutOfMemoryException", 0x48), _INTERNAL)
    for _ in range(40):
        out.root(out.object("System.String", 0x20), _RUNTIME)
    assembly = out.object("System.Reflection.Assembly", 0x20)
    out.root(out.object("System.RuntimeType", 0x64, assembly), _RUNTIME)


def _loose_ends(out: _LineWriter, chance: random.Random, screens: list[int]) -> None:
    """Handles, finalizers, garbage, and the faults of real dumps."""
    for _ in range(8):
        buffer = out.object("System.Byte[]", 0x2000)
        out.root(buffer, _HANDLE, _PINNED)
    for _ in range(12):
        path = out.object("System.String", 0x40)
        stream = out.object("System.IO.FileStream", 0x50, path)
        out.root(stream, _FINALIZER)
    for screen in screens[:5]:
        out.root(screen, _HANDLE, _WEAK)
    for _ in range(60):
        emitter = out.reserve()
        sparks = out.object("System.Single[]", chance.randrange(8, 40) * 16)
        spark = out.object("StarMiner.Spark", 0x24, sparks, emitter)
        out.object("StarMiner.Emitter", 0x2C, spark, at=emitter)
    forgotten = out.object("StarMiner.HighScore", 0x30)
    out.root(forgotten, _HANDLE, _WEAK)
    # An object missing from the dump, and an undeclared type.
    lost = out.reserve()
    undeclared = len(out.types) + 0x20
    untyped = out.reserve()
    out.lines.append(f"o {untyped:x} {undeclared:x} 18 {lost:x}")
    out.root(untyped, _HANDLE)


def _script_domain(out: _LineWriter) -> None:
    """A second application domain, with types of its own numbering."""
    out.types = {}
    out.lines.append("a 2 ScriptHost.dll 763fbf0")
    value = out.object("System.Int32", 0x8)
    table = out.object("System.Collections.Hashtable", 0x34, value)
    closure = out.object("ScriptHost.Closure", 0x20, table)
    script = out.object("ScriptHost.Script", 0x48, closure, table)
    out.root(script, _STATIC, 0, "ScriptHost.Engine")
    out.lines.append("c ScriptHost.dll 763fc02")
