"""The one bar of a load: what share of it is done, and when it will end.

Stages of a load take seconds or minutes, and some of them say nothing of how far they
are. So the bar knows how long each takes at about how many nodes and relationships; it
corrects that by what this load has taken so far, and moves with the time. An estimate
never rises: one that has turned out too low is not shown until it is true again.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.cli.bars import SCREEN, Bars, Stage
from ingest.database.writing import Via
from ingest.text import human_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long a stage takes.

    Attributes:
        stage: Its name.
        least_s: With no nodes and relationships at all.
        each_us: For each of them.
    """

    stage: str
    least_s: float
    each_us: float = 0.0

    def seconds(self, entity_count: int) -> float:
        """With so many nodes and relationships."""
        return self.least_s + 1e-6 * self.each_us * entity_count


STEPS = {
    Via.BOLT: (
        StageTime("store", 0.1, 0.3),
        StageTime("write", 3.0, 13.0),
        StageTime("index", 0.2, 0.3),
    ),
    Via.BULK: (
        StageTime("store", 0.1, 0.1),
        StageTime("write import files", 0.1, 0.1),
        StageTime("import", 1.5, 1.0),
        StageTime("stop Neo4j", 0.3),
        StageTime("start Neo4j", 2.5),
        StageTime("index", 0.8),
    ),
}
"""Stages of writing, in their order, on two cores with one million objects."""

_BEFORE = {
    "prepare": (0.0, 0.02),
    "start Neo4j": (0.02, 0.05),
    "read": (0.05, 0.12),
    "analyse": (0.12, 0.15),
}
"""Shares at which the stages before writing begin and end; how long they take is not
known before the dump has been read."""

_WRITING, _MOST = 0.15, 0.99
_USUAL_S = 10.0
"""What a stage takes that is no step, or that does not report how far it is."""

_TRUST_S = 8.0
"""The steps' seconds count as much as so many seconds of this load."""

_TAIL = 0.25
"""Of the time of a stage: once only this much is left of it, it may take longer."""

_SHOWN_FROM_S = 2.0
_WRONG = 1.25
"""An estimate that has become this many times too low is not shown."""


class TimeOfLoad:
    """Follows the stages of one load.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.began = clock()
        self.stage = ""
        self._stage_began = self._news = self.began
        self._part = 0.0
        self._share = 0.0
        self._left = math.inf
        self._raw_left = math.inf
        self._steps: Sequence[StageTime] = ()
        self._at = -1
        self._entities = 0
        self._writing_began = 0.0
        self._expected_s = self._taken_s = 0.0

    def report(self, stage: str, done: int, total: int | None) -> None:
        """See `ingest.progress.Progress`."""
        if stage != self.stage:
            self._leave()
            self.stage, self._part = stage, 0.0
            self._stage_began = self._news = self._clock()
            self._find_step()
        part = min(done / total, 1.0) if total else 0.0
        if part > self._part:
            self._part, self._news = part, self._clock()

    def begin_writing(self, via: Via, entity_count: int) -> None:
        """The rest is known: this way, and so many nodes and relationships."""
        self._steps, self._entities, self._at = STEPS[via], entity_count, -1
        self._find_step()  # the first has begun, unless the server was faster
        self._writing_began = self._clock()

    def _find_step(self) -> None:
        later = range(self._at + 1, len(self._steps))
        self._at = next(
            (i for i in later if self._steps[i].stage == self.stage), self._at
        )

    def share(self) -> float:
        """Of the load that is done, 0 to 1; never falls."""
        if self._steps:
            left, passed = self._seconds_left(), self._clock() - self._writing_began
            now = _WRITING + (1 - _WRITING) * passed / max(passed + left, 1e-9)
        else:
            begin, end = _BEFORE.get(self.stage, (self._share, self._share))
            passed = self._clock() - self._stage_began
            part = self._part or 1 - math.exp(-passed / _USUAL_S)
            now = begin + (end - begin) * part
        self._share = max(self._share, min(now, _MOST))
        return self._share

    def seconds_left(self) -> float | None:
        """Until the end; ``None`` where that is not known. Never rises."""
        if not self._steps:
            return None
        left = self._seconds_left()
        wrong = self._raw_left > _WRONG * left + 1
        return None if wrong or left < _SHOWN_FROM_S else left

    def _seconds_left(self) -> float:
        later = self._steps[self._at + 1 :]
        left = sum(step.seconds(self._entities) for step in later) * self._slowness
        left += self._rest_of_stage()
        self._raw_left, self._left = left, min(left, self._left)
        return self._left

    def _rest_of_stage(self) -> float:
        """Of the stage: what its last news promised, less the time since then."""
        if self._at < 0:
            return 0.0
        expected = _USUAL_S
        if self._is_step:
            expected = self._steps[self._at].seconds(self._entities) * self._slowness
        promised = expected
        if self._part:
            passed = self._news - self._stage_began
            as_so_far = passed * (1 - self._part) / self._part
            trust = min(1.0, 2 * self._part)
            promised = trust * as_so_far + (1 - trust) * expected * (1 - self._part)
        left = promised - (self._clock() - self._news)
        tail = _TAIL * promised
        return left if left >= tail else tail * math.exp((left - tail) / (tail or 1))

    @property
    def _slowness(self) -> float:
        """How many times longer this load takes than is usual."""
        return (_TRUST_S + self._taken_s) / (_TRUST_S + self._expected_s)

    @property
    def _is_step(self) -> bool:
        return self._at >= 0 and self.stage == self._steps[self._at].stage

    def _leave(self) -> None:
        if self._is_step:
            self._expected_s += self._steps[self._at].seconds(self._entities)
            self._taken_s += self._clock() - self._stage_began


class _Load(Stage):
    """The stage that a load is on the screen."""

    def __init__(self) -> None:
        super().__init__("load")
        self.time = TimeOfLoad()
        self.total = 1000

    has_bar = True

    def detail(self) -> str:
        """What follows the bar."""
        self.done = int(1000 * self.time.share())
        parts = [self.time.stage, human_seconds(self.elapsed_s, whole=True)]
        left = self.time.seconds_left()
        if left is not None:
            parts.append(f"about {human_seconds(left, whole=True)} left")
        return ", ".join(parts)


class LoadBar(Bars):
    """Shows a load as one bar; several loads one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._load: _Load | None = None

    def close(self, *, completed: bool = True) -> None:
        """End the bar; what is reported next belongs to the next load."""
        if self._load is not None:
            SCREEN.end(self._load.name, completed=completed)
        self._load = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Keep the bar away from what is written meanwhile."""
        with SCREEN.lock:
            SCREEN.erase()
            yield

    def begin_writing(self, via: Via, entity_count: int) -> None:
        """See `ingest.pipeline.Loader.writes`."""
        with SCREEN.lock:
            if self._load is not None:
                self._load.time.begin_writing(via, entity_count)

    def _show(self, stage: str, done: int, total: int | None) -> None:
        with SCREEN.lock:
            if self._load is None:
                self._load = _Load()
                SCREEN.begin(self._load)
            self._load.time.report(stage, done, total)
