"""Roots of a heap of CPython: modules with their variables, stacks, holders in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ingest.heap.graph import NO_FIELD, OF_KEY, RootKind
from ingest.readers.shared.columns import RootColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ingest.arrays.compiled import Ints
    from ingest.heap.values import ObjectValues
    from ingest.readers.cpython.facts import Module, Thread
    from ingest.readers.cpython.objects import Fields, PythonObjects

_RELOADED = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__",
    "__cached__", "__builtins__", "__path__")  # fmt: skip
"""Names that every module has."""

_MAIN, _SPAWNED = "__main__", "__mp_main__"
"""Names of the program's own module, which has both once multiprocessing is loaded."""


class PythonRoots:
    """The roots of a heap, found one kind after another."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._pieces: list[tuple[NDArray[Any], ...]] = []
        self.owners: list[str] = []
        self.stacks: list[tuple[str, ...]] = []

    def add(
        self,
        ids: NDArray[Any] | list[int],
        kind: RootKind,
        field: NDArray[Any] | list[int] | int = NO_FIELD,
        owner: list[int] | int = -1,
        frame: list[int] | int = -1,
    ) -> None:
        """Add roots of one kind; ``owner`` and ``frame`` are rows of names."""
        many = len(ids)
        self._pieces.append(
            (
                np.array(ids, np.uint64),
                np.full(many, kind, np.uint8),
                *(
                    np.broadcast_to(np.array(column, np.int32), many)
                    for column in (field, owner, frame)
                ),
            )
        )

    def add_modules(
        self,
        modules: Sequence[Module],
        spaces: Ints,
        objects: PythonObjects,
        values: ObjectValues,
    ) -> None:
        """Add modules, and the objects that they have under each name.

        An object of several modules comes first under the name in the module that it
        says it belongs to, or else in the module that was imported last: a module that
        imports a name is loaded after it began to import the other one. The variables
        of a module with several names have one of them: ``__main__`` rather than
        ``__mp_main__``.

        Args:
            modules: In the order in which they were imported.
            spaces: int32. The row of the dict of each; negative for none.
            objects: The objects, with the names of their references.
            values: Their values.
        """
        ids: list[int] = []
        names: list[str] = []
        foreign: list[bool] = []
        told: set[int] = set()
        pairs = list(zip(modules[::-1], spaces[::-1].tolist(), strict=True))
        pairs.sort(key=lambda pair: pair[0].name == _SPAWNED)
        for module, space in pairs:
            name = module.name
            homes = [f"{name}."] + [f"{_SPAWNED}."] * (name == _MAIN)
            if space < 0 or not module.ident or space in told:
                continue
            told.add(space)
            part = slice(int(objects.start[space]), int(objects.start[space + 1]))
            field = objects.ref_field[part].tolist()
            target = objects.target[part]
            texts = values.pick(target)
            variables = zip(
                field,
                objects.ref_id[part].tolist(),
                target.tolist(),
                texts,
                strict=True,
            )
            for row, ident, at, text in variables:
                key = self._fields.names[row] if row >= 0 else ""
                if not key or key == OF_KEY or key in _RELOADED or at < 0:
                    continue
                ids.append(ident)
                names.append(f"{module.name}.{key}")
                own = text is not None and any(
                    text.startswith(home) and "." not in text[len(home) :]
                    for home in homes
                )
                foreign.append(not own)
        order = np.argsort(np.array(foreign, np.bool_), kind="stable").tolist()
        self.add(
            [ids[at] for at in order],
            RootKind.STATIC,
            [self._fields.row(names[at]) for at in order],
        )
        named = [module for module, _ in pairs if module.ident]
        self.add(
            [m.ident for m in named],
            RootKind.STATIC,
            [self._fields.row(m.name) for m in named],
        )

    def add_stacks(self, threads: Sequence[Thread]) -> None:
        """Add the local variables of all threads' frames."""
        ids: list[int] = []
        columns: tuple[list[int], list[int], list[int]] = ([], [], [])
        frames = 0
        for thread in threads:
            owner = len(self.owners)
            self.owners.append(thread.name)
            stack = tuple(frame.text for frame in thread.frames)
            self.stacks.append(stack)
            for number, frame in enumerate(thread.frames):
                for name, at in frame.locals:
                    ids.append(at)
                    for column, value in zip(
                        columns,
                        (self._fields.row(name), owner, frames + number),
                        strict=True,
                    ):
                        column.append(value)
            frames += len(stack)
        self.add(ids, RootKind.LOCAL, *columns)

    def columns(self) -> RootColumns:
        """All roots."""
        ids, kind, field, owner, frame = map(
            np.concatenate, zip(*self._pieces, strict=True)
        )
        return RootColumns(
            id=ids,
            kind=kind,
            flags=np.zeros(len(ids), np.uint8),
            field=field,
            owner=owner,
            frame=frame,
        )
