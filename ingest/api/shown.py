"""The answers of the interface: values, text, frames, and cells of a notebook."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, overload

from ingest.api.asked import Asked, AskedFile
from ingest.words.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from ingest.answers.asking import OpenedDump
    from ingest.api.reading import ReadingOptions
    from ingest.compare.dumps import ComparedDump
    from ingest.dumps import Keeper
    from ingest.dumps.dump import Dump
    from ingest.progress import Progress
    from ingest.queries.answer import Answer
    from ingest.reports.about import About
    from ingest.reports.html import QuerySource
    from ingest.words.text import Captions

_CELL, _TALL_CELL = 560, 760
"""Heights of answers in a notebook, in pixels."""


def frame_of(answer: Answer) -> pl.DataFrame:
    """The rows of an answer, with a column for each of the query."""
    import polars as pl

    return pl.DataFrame(
        {name: answer.column(name) for name in answer.columns}, strict=False
    )


class _Facts(Mapping[str, Any]):
    """Values by name, as ``--json`` prints them."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(dict(self._facts), indent=2)


class Summary(_Facts):
    """A dump in figures: what ``ingest info --json`` prints, by name.

    ``str`` of it is the text of ``ingest info``.
    """

    def __init__(
        self, facts: Mapping[str, Any], dump: Dump, dumps: Sequence[str] = ()
    ) -> None:
        super().__init__(facts)
        self._captions: Captions = dump.graph.captions
        self._dump = dump
        self._dumps = dumps or (dump.what,)

    @classmethod
    def of(
        cls,
        dump: Dump,
        top: int,
        compared: Sequence[ComparedDump] = (),
        dumps: Sequence[str] = (),
    ) -> Summary:
        """The summary of an opened dump.

        Args:
            dump: The dump.
            top: How many types and objects to list.
            compared: Earlier dumps of the program, and this one.
            dumps: Names of these dumps, as the user wrote them.
        """
        from ingest.reports.summary import facts
        from ingest.tables.estimates import of_heap, of_types

        graph, metrics, options = dump.graph, dump.metrics, dump.options
        is_named = dump.kept is None and options.redaction is None
        found = facts(
            graph,
            metrics,
            dump.what if is_named else dump.source,
            "" if dump.identity is None else dump.identity.sha256,
            top,
            own=options.own,
            estimated=of_heap(graph),
            estimated_types={
                name: column.tolist()
                for name, column in of_types(graph, metrics).items()
            },
        )
        if dump.kept is not None:  # the tables do not have these facts
            found |= {"null_references": None, "domains": []}
        found["growth"] = None
        if compared:
            from ingest.reports.growth import by_growth, growth_facts

            suspects = cast("list[dict[str, object]]", found["suspects"])
            found["growth"] = growth_facts(compared, options.own)
            found["suspects"] = by_growth(suspects, compared)
        return cls(found, dump, dumps)

    def __str__(self) -> str:
        from ingest.reports.summary import facts_text

        return facts_text(self._facts, self._captions, self._dumps)

    def _repr_html_(self) -> str:
        return _cell(_asked(self._dump), {"dump": {}, "leak-suspects": {"limit": "10"}})


def summary_of(
    dumps: Sequence[str],
    reading: ReadingOptions,
    progress: Progress,
    keepers: Sequence[Keeper],
    *,
    top: int,
) -> Summary:
    """The summary of the last of some dumps, preceded by what grew.

    Args:
        dumps: Dumps of one program, in the order in which they were taken.
        reading: Options.
        progress: Receives all stages.
        keepers: Where to look for names that are not files.
        top: How many types and objects to list.
    """
    from ingest.api.reading import opened

    if len(dumps) == 1:
        return Summary.of(
            opened(dumps[0], reading, progress, keepers, origins=False), top
        )
    from ingest.compare.dumps import of_dump

    compared = []
    for named in dumps[:-1]:
        dump = opened(named, reading, progress, keepers, origins=False)
        compared.append(of_dump(dump))
        dump.close()
    last = opened(dumps[-1], reading, progress, keepers, origins=False)
    compared.append(of_dump(last))
    return Summary.of(last, top, compared, dumps)


class _Rows(Sequence[Mapping[str, Any]]):
    """Rows, each a mapping from column to value."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(
        self, at: int | slice
    ) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def frame(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        import polars as pl

        return pl.DataFrame(list(self._rows), strict=False, infer_schema_length=None)


class Suspects(_Rows):
    """Leak suspects, the best first; ``str`` of them is the text of ``ingest info``.

    Each has ``type``, ``count``, ``bytes`` (retained), ``share`` (of the reachable
    bytes, 0 to 1), ``holder``, ``reference``, ``root``, ``path``, ``cut``,
    ``contents``, ``address``, ``sentence``, ``advice``, ``signs``, ``doubts``,
    ``fingerprint``.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], dump: Dump) -> None:
        super().__init__(rows)
        self._dump = dump

    @classmethod
    def of(cls, dump: Dump) -> Suspects:
        """The suspects of an opened dump."""
        from ingest.reports.suspects import of_heap
        from ingest.suspects.find import find_suspects

        found = find_suspects(dump.graph, dump.metrics, dump.options.own)
        return cls(of_heap(dump.graph, found.suspects), dump)

    def __str__(self) -> str:
        from ingest.reports.suspects import suspects_text

        return suspects_text(self._rows, self._dump.graph.incomplete).lstrip("\n")

    def _repr_html_(self) -> str:
        return _cell(_asked(self._dump), {"dump": {}, "leak-suspects": {"limit": "10"}})


@dataclass(frozen=True, eq=False)
class Why:
    """What keeps an object, or the objects of a type, alive.

    ``str`` of it is the text of ``ingest why``.

    Attributes:
        kind: ``object`` or ``type``.
        name: The address, or the full name of the type.
        notice: A notice if the user wrote another name; else empty.
        about: The dump.
        answers: Answers of the queries, by name.
    """

    kind: str
    name: str
    notice: str
    about: About
    answers: Mapping[str, Answer]
    _asked: Asked
    _given: Mapping[str, Mapping[str, str]]

    @classmethod
    def of_file(cls, opened: OpenedDump, subject: str, paths: int) -> Why:
        """Ask an opened dump; see `of`."""
        return cls.of(AskedFile(opened), subject, paths)

    @classmethod
    def of(
        cls, asked: Asked, subject: str, paths: int, *, as_page: bool = False
    ) -> Why:
        """Ask a dump.

        Args:
            asked: The dump.
            subject: An address, or a type's full or short name.
            paths: The most paths.
            as_page: Whether the answer is for a page, which has longer tables.

        Raises:
            NotFound: the dump has no such object or type.
        """
        from ingest.reports import why_page
        from ingest.reports.why import EXAMPLE, OBJECT_QUERIES, TYPE_QUERIES

        found = asked.find_subject(subject)
        is_object = found.kind == "object"
        limits = dict.fromkeys(
            ("k-shortest-root-paths", "root-paths-of-type", "instances-by-root-path"),
            str(paths),
        )
        if as_page:
            panels = why_page.OBJECT_PANELS if is_object else why_page.TYPE_PANELS
            limits |= why_page.limits(panels)
        key = "address" if is_object else "type"
        given = {
            name: {key: found.name}
            | ({"limit": limits[name]} if name in limits else {})
            for name in (OBJECT_QUERIES if is_object else TYPE_QUERIES)
        }
        answers = dict(asked.ask_all(given))
        if not is_object and (largest := answers["objects-of-type"].dicts()):
            one = {"address": str(largest[0]["address"]), "limit": "1"}
            answers |= asked.ask_all({EXAMPLE: one})
        return cls(
            found.kind, found.name, found.notice, asked.about, answers, asked, given
        )

    def frame(self, query: str) -> pl.DataFrame:
        """The rows of one of the queries; `answers` has their names."""
        return frame_of(self.answers[query])

    def facts(self) -> dict[str, object]:
        """The answers as values for JSON."""
        rows = {name: answer.dicts() for name, answer in self.answers.items()}
        return {"about": self.about.facts(), self.kind: self.name, "answers": rows}

    def sources(self) -> dict[str, QuerySource]:
        """The Cypher of each part, by query."""
        return {
            name: self._asked.source(name, one) for name, one in self._given.items()
        }

    def page(self) -> str:
        """The same as a page, with the paths drawn."""
        from ingest.reports import why_page

        is_object = self.kind == "object"
        page = why_page.object_page if is_object else why_page.type_page
        return page(self.name, self.answers, self.sources(), self.about)

    def __str__(self) -> str:
        from ingest.reports.why import why_object, why_type

        text = why_object if self.kind == "object" else why_type
        said = text(self.name, dict(self.answers))
        return _between(self.about, said, self.about.sentence())

    def _repr_html_(self) -> str:
        from ingest.reports.notebook import framed

        return framed(self.page(), _TALL_CELL)


class RootPaths(_Rows):
    """Shortest paths from roots to an object, or merged by type.

    A path to an object has ``root``, ``steps``, ``addresses``, ``fields``, ``types``,
    ``retained_bytes`` and ``length`` (references). A path to a type has ``path``,
    ``instance_count``, ``shallow_bytes`` and ``retained_bytes``.
    """

    def __init__(self, why: Why) -> None:
        is_object = why.kind == "object"
        self._query = "k-shortest-root-paths" if is_object else "root-paths-of-type"
        super().__init__(why.answers[self._query].dicts())
        self._why = why

    @classmethod
    def of(cls, opened: OpenedDump, subject: str, k: int) -> RootPaths:
        """Ask an opened dump."""
        return cls(Why.of_file(opened, subject, k))

    def frame(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        return self._why.frame(self._query)

    def __str__(self) -> str:
        from ingest.reports.paths import path_text, paths_text

        if self._why.kind == "object":
            return paths_text([[row["root"], *row["steps"]] for row in self])
        caption = self._why.answers[self._query].captions.of
        return "\n".join(
            f"{counted(row['instance_count'], 'instances')}\n"
            + path_text([row["path"][0], *map(caption, row["path"][1:])])
            for row in self
        )

    def _repr_html_(self) -> str:
        return self._why._repr_html_()


class CutAnswer(_Facts):
    """What cuts free, as ``ingest what-if --json`` prints it, by name."""

    def __init__(self, facts: Mapping[str, Any], what: str, captions: Captions) -> None:
        super().__init__(facts)
        self._what, self._captions = what, captions
        self.notices: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        dump: Dump,
        cuts: Sequence[str],
        *,
        best: int | None = None,
        free: int = 100,
        top: int = 10,
    ) -> CutAnswer:
        """Ask an opened dump; see `ingest.api.heap.Heap.what_if`."""
        from ingest.errors import NotFound
        from ingest.reports.what_if import facts
        from ingest.what_if.best_cuts import best_cuts
        from ingest.what_if.cut_parser import CutParser
        from ingest.what_if.freed import Cut
        from ingest.what_if.freed import WhatIf as Heap

        graph, options = dump.graph, dump.options
        dump.progress("search", 0, None)
        notices: list[str] = []
        parser = CutParser(graph, notices.append)
        try:
            given = [(text, parser.cut(text)) for text in cuts]
        except NotFound as error:
            raise NotFound(f"{dump.what}: {error}") from None
        heap = Heap(graph)
        before = Cut.nothing(graph)
        for _, found in given:
            before = before.with_(found)
        most = best if best is not None else 0 if cuts else 3
        chosen = list(
            best_cuts(
                heap, before=before, most=most, enough=free / 100, own=options.own
            )
        )
        answer = cls(facts(heap, given, chosen, top), dump.what, graph.captions)
        answer.notices = tuple(notices)
        return answer

    def __str__(self) -> str:
        from ingest.reports.what_if import as_text

        return as_text(self._what, self._facts, self._captions)

    def __repr__(self) -> str:
        return str(self)


class Report:
    """The leak report of a dump; ``str`` of it is the text of ``ingest report``."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    @classmethod
    def of_file(cls, opened: OpenedDump) -> Report:
        """The report of an opened dump."""
        return cls(AskedFile(opened))

    @cached_property
    def answers(self) -> Mapping[str, Answer]:
        """Answers of the queries of the text report, by name."""
        from ingest.reports.report_panels import report_queries

        return self._asked.ask_all(report_queries(page=False))

    @cached_property
    def _told(self) -> tuple[list[dict[str, object]], dict[str, object] | None]:
        from ingest.reports.growth import by_growth, growth_facts
        from ingest.reports.suspects import of_rows

        suspects = of_rows(self.answers["leak-suspects"].dicts())
        if not (compared := self._asked.compared()):
            return suspects, None
        return by_growth(suspects, compared), growth_facts(compared)

    def facts(self) -> dict[str, object]:
        """The answers, and what grew, as values for JSON."""
        suspects, growth = self._told
        found: dict[str, object] = {"about": self._asked.about.facts()}
        found |= {"growth": growth, "suspects": suspects}
        return found | {name: one.dicts() for name, one in self.answers.items()}

    def markdown(self) -> str:
        """The same as Markdown."""
        from ingest.reports.leaks import as_markdown
        from ingest.reports.render import markdown_text

        contents, about = _contents(self._asked, self.answers), self._asked.about
        text = as_markdown(self.answers, *self._told, contents, about.file)
        return _between(about, text, markdown_text(about.sentence()))

    def page(self) -> str:
        """The same as a page, with charts, and longer tables."""
        from ingest.reports.report_panels import report_queries

        return _page(self._asked, report_queries(page=True))

    def __str__(self) -> str:
        from ingest.reports.leaks import as_text

        about = self._asked.about
        contents = _contents(self._asked, self.answers)
        text = as_text(self.answers, *self._told, contents, about.file)
        return _between(about, text, about.sentence())

    def _repr_html_(self) -> str:
        from ingest.reports.notebook import framed

        return framed(self.page(), _TALL_CELL)


class Treemap:
    """The top of the dominator tree: a chart in a notebook, else indented text."""

    def __init__(self, opened: OpenedDump) -> None:
        self._asked = AskedFile(opened)

    def frame(self) -> pl.DataFrame:
        """The objects that retain most, each with its dominator: a row number."""
        query = "dominator-treemap"
        return frame_of(self._asked.ask_all({query: {"limit": "10000"}})[query])

    def __str__(self) -> str:
        from ingest.reports.leaks import tree_of

        queries = {"dump": {}, "dominator-treemap": {"limit": "500"}}
        answers = self._asked.ask_all(queries)
        return tree_of(answers, _contents(self._asked, answers))

    def _repr_html_(self) -> str:
        return _cell(self._asked, {"dump": {}, "dominator-treemap": {"limit": "10000"}})


def _between(about: About, text: str, first: str) -> str:
    """A text after which dump it is about, and before what answered."""
    last = about.origin()
    return f"{first}\n\n{text}" + (f"\n{last}\n" if last else "")


def _asked(dump: Dump) -> AskedFile:
    from ingest.answers.asking import OpenedDump

    return AskedFile(OpenedDump(dump))


def _page(asked: Asked, queries: Mapping[str, Mapping[str, str]]) -> str:
    """The page of a report, with the parts that were requested."""
    from ingest.reports.page import PATHS, report_page, suspect_paths

    answers = asked.ask_all(queries)
    followed = (
        suspect_paths(answers["leak-suspects"]) if "leak-suspects" in answers else []
    )
    return report_page(
        answers,
        [asked.ask_all({PATHS: given})[PATHS] for given in followed],
        {name: asked.source(name, given) for name, given in queries.items()},
        [asked.source(PATHS, given) for given in followed],
        loaded_at=asked.loaded_at,
        about=asked.about,
        contents=_contents(asked, answers),
        compared=asked.compared() if "leak-suspects" in answers else (),
    )


def _contents(asked: Asked, answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """Types dominated by objects with much in small objects, by address."""
    from ingest.reports.contents import CONTENTS, to_open
    from ingest.reports.hierarchy import MOST_TILES

    if "dominator-treemap" not in answers:
        return {}
    (dump,) = answers["dump"].dicts()
    total = cast("int", dump["reachable_bytes"])
    return {
        address: asked.ask_all({CONTENTS: {"address": address}})[CONTENTS]
        for address in to_open(answers["dominator-treemap"], total, MOST_TILES)
    }


def _cell(asked: Asked, queries: Mapping[str, Mapping[str, str]]) -> str:
    from ingest.reports.notebook import framed

    return framed(_page(asked, queries), _CELL)
