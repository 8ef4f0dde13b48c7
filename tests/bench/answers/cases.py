"""Cases: dumps with the truth beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from tests.bench.answers.background import Background
from tests.bench.answers.dart import Dart
from tests.bench.answers.dotnet import DotNet
from tests.bench.answers.formats import WRITERS
from tests.bench.answers.javascript import JavaScript
from tests.bench.answers.model import Heap
from tests.bench.answers.names import Names


class Truth(NamedTuple):
    """An answer that is right.

    Attributes:
        type: The leaking type.
        holder: The type that holds the pile; ``None`` if nothing of the program does:
            then a type of the runtime or none may be named.
        reference: Its field or static; ``None`` if the format does not tell, or if
            nothing of the program holds the pile.
        words: What the sentence has to say of the holder instead of both, where
            objects of the runtime stand for a part of the program.
    """

    type: str
    holder: str | None
    reference: str | None = None
    words: str | None = None


@dataclass
class Program:
    """A heap in the making: what leaks is added first, then everything else."""

    format: str
    random: Random
    scale: float = 1
    heap: Heap = field(default_factory=Heap)

    def __post_init__(self) -> None:
        languages = {"dartheap": "dart", "v8": "javascript"}
        self.names = Names(self.random, languages.get(self.format, "dotnet"))
        self.runtime: DotNet | Dart | JavaScript
        if self.format == "v8":
            self.runtime = JavaScript(self.heap)
        elif self.has_fields:
            self.runtime = Dart(self.heap)
        else:
            styles = {"gcdump": "csharp", "nettrace": "short", "clrprofiler": "csharp"}
            # The Compact Framework, whose format gclog is, has roots for statics.
            self.runtime = DotNet(
                self.heap, styles.get(self.format, "long"), table=self.format != "gclog"
            )

    @property
    def has_fields(self) -> bool:
        """Whether the format names the fields of objects."""
        return self.format in ("dartheap", "v8")

    @property
    def has_statics(self) -> bool:
        """Whether it tells which type declares a static."""
        return self.format in ("gclog", "gcdump", "dartheap", "v8")

    @property
    def has_static_names(self) -> bool:
        """Whether it names static fields."""
        return self.format in ("gcdump", "nettrace", "dartheap", "v8")

    def new_type(self, *fields: str) -> str:
        return self.runtime.type(self.names.type(), fields)

    def objects(self, low: int, high: int) -> int:
        """How many to make of something."""
        return int(self.random.randint(low, high) * self.scale)

    def field_of(self, name: str) -> str | None:
        """A field as the truth has it: none where the format has no names."""
        return name if self.has_fields else None

    def static(self, held: int) -> tuple[str | None, str | None]:
        """A static of a new type; what the truth says of it."""
        owner, name = self.new_type(), self.names.field()
        self.runtime.static(owner, name, held)
        if isinstance(self.runtime, JavaScript):
            owner = self.runtime.module(owner)
        return (
            owner if self.has_statics else None,
            name if self.has_static_names else None,
        )

    def held_by(self, pile: int, *more: int) -> tuple[int, str, str | None]:
        """A new object of the program with the pile in a field; its type, the field."""
        name = self.names.field()
        others = [f"_{self.names.program}{row}" for row in range(len(more))]
        kind = self.new_type(name, *others)
        return self.runtime.object(kind, [pile, *more]), kind, self.field_of(name)

    def rest(self, share: float) -> None:
        """Fill up with what is healthy; what was there is that share of the heap."""
        background = Background(self.heap, self.runtime, self.names, self.random)
        background.fill(int(self.heap.total_bytes * (1 - share) / share))

    def dump(self) -> bytes:
        return WRITERS[self.format](self.heap)


Maker = Callable[[Program], list[Truth]]


@dataclass(frozen=True)
class Case:
    """One heap: how it is made, as which format, and how much of it leaks.

    A healthy one has a share of 0: its maker adds all that there is.
    """

    make: Maker
    format: str
    share: float = 0
    scale: float = 1

    @property
    def name(self) -> str:
        return self.make.__name__.replace("_", " ")

    def program(self, seed: int) -> tuple[Program, list[Truth]]:
        """The program, and the right answers."""
        random = Random(f"{seed} {self.name} {self.format} {self.share}")
        program = Program(self.format, random, self.scale)
        truths = self.make(program)
        if self.share:
            program.rest(self.share)
        return program, truths
