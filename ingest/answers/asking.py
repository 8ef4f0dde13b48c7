"""Asking a dump that is no database's: the same names, parameters and rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from ingest.answers import (
    of_contents,
    of_cycles,
    of_dotnet,
    of_dump,
    of_handlers,
    of_holders,
    of_jvm,
    of_leaks,
    of_object,
    of_python,
    of_references,
    of_script,
    of_type,
)
from ingest.answers.opened import OpenedHeap
from ingest.errors import QueryError
from ingest.progress import silent
from ingest.queries.answer import Answer
from ingest.queries.library import find
from ingest.words.text import printable
from ingest.words.type_names import Subject, find_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ingest.answers.frames import HeapView
    from ingest.answers.view import Row
    from ingest.dumps.dump import Dump
    from ingest.progress import Progress
    from ingest.queries.library import Query, Value

    Function = Callable[[HeapView, Mapping[str, Value]], pl.DataFrame | list[Row]]

NUMBER = 0
"""What such a dump has for ``$dump``."""

_MODULES = (
    of_contents, of_cycles, of_dotnet, of_dump, of_handlers, of_holders, of_jvm,
    of_leaks, of_object, of_python, of_references, of_script, of_type,
)  # fmt: skip


def _answers() -> Iterator[tuple[str, Function]]:
    """What takes a heap and values of parameters, by the name of its query."""
    for module in _MODULES:
        for name, found in vars(module).items():
            taken = getattr(found, "__annotations__", {})
            if {"heap", "values"} <= {*taken} and not name.startswith("_"):
                yield name.rstrip("_").replace("_", "-"), found


FUNCTIONS: dict[str, Function] = dict(_answers())
"""By name of the query."""


def answered(view: HeapView, query: Query, values: Mapping[str, Value]) -> Answer:
    """The answer of a query of `FUNCTIONS`, without captions."""
    rows = FUNCTIONS[query.name](view, values)
    columns = tuple(column.name for column in query.columns)
    if isinstance(rows, pl.DataFrame):
        rows = view.completed(rows, columns).select(columns) if len(rows) else rows
        return Answer(columns, tuple(rows.iter_rows()))
    return Answer(columns, tuple(tuple(row[one] for one in columns) for row in rows))


class OpenedDump:
    """A dump that has been opened, to be asked what a loaded one can be asked.

    Args:
        dump: The dump; its heap is read at the first question.
    """

    def __init__(self, dump: Dump) -> None:
        self.dump = dump

    @cached_property
    def view(self) -> OpenedHeap:
        """Its heap."""
        about = {"name": self.dump.name, "source": self.dump.source}
        return OpenedHeap(self.dump.tables(), about)

    def ask(self, name: str, given: Mapping[str, str]) -> Answer:
        """Answer a query of the library.

        Raises:
            QueryError: it is about several dumps, or a parameter is wrong.
        """
        query = find(name)
        if name not in FUNCTIONS:
            raise QueryError(
                f"{name} is about several dumps: load them, and ask the database"
            )
        answer = answered(self.view, query, query.bind(given, NUMBER))
        return replace(answer, captions=self.dump.graph.captions)

    def ask_all(
        self, queries: Mapping[str, Mapping[str, str]], progress: Progress = silent
    ) -> dict[str, Answer]:
        """Answer several queries; those about several dumps have no rows."""
        answers = {}
        for done, (name, given) in enumerate(queries.items()):
            progress("ask", done, len(queries))
            if name in FUNCTIONS:
                answers[name] = self.ask(name, given)
            else:
                columns = tuple(column.name for column in find(name).columns)
                answers[name] = Answer(columns, ())
        return answers

    def find_subject(self, text: str, kind: str = "") -> Subject:
        """Find what ``text`` names; see `ingest.words.type_names.find_subject`.

        Raises:
            NotFound: nothing in the dump is called that, or several types are.
        """
        which = f"dump {printable(self.dump.name)}"
        return find_subject(text, which, self.view, kind)
