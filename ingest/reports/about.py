"""What an answer is about: a dump, among those that are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ingest.words.text import printable


class From(StrEnum):
    """What answers about a loaded dump."""

    GRAPH = "graph"
    TABLES = "tables"


@dataclass(frozen=True, slots=True)
class About:
    """The dump that an answer is about.

    Attributes:
        dump: Its name; ``None`` if the query does not ask for one dump.
        number: What queries find in ``$dump``; ``None`` likewise.
        loaded_count: Number of loaded dumps.
        is_newest: Whether it was loaded last.
        incomplete: Why it is not the whole heap; empty if nothing speaks against it.
        file: What was opened, if the dump is not loaded; else empty.
        from_tables: Whether its tables answer, not its graph.
    """

    dump: str | None
    number: int | None
    loaded_count: int
    is_newest: bool
    incomplete: str = ""
    file: str = ""
    from_tables: bool = False

    def facts(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "dump": self.dump,
            "number": self.number,
            "loaded_dumps": self.loaded_count,
            "incomplete": self.incomplete or None,
            "answered_from": From.TABLES if self.from_tables else From.GRAPH,
        }

    def sentences(self) -> str:
        """What a page says of both."""
        return "; ".join(filter(None, (self.sentence(), self.origin())))

    def origin(self) -> str:
        """What answered, to be said last; empty where nothing else could."""
        if self.file or not self.from_tables:
            return ""
        return "answered from the tables of the dump; --from graph asks Neo4j"

    def sentence(self) -> str:
        """The same in words."""
        if self.dump is None:
            return f"all loaded dumps ({self.loaded_count}); the query has no $dump"
        if self.file:
            which = "read from its file"
        elif self.loaded_count == 1:
            which = "the only one loaded"
        elif self.is_newest:
            which = f"the newest of {self.loaded_count} loaded"
        else:
            which = f"one of {self.loaded_count} loaded"
        text = f"dump {printable(self.dump)}, {which}"
        return f"{text}, incomplete: {self.incomplete}" if self.incomplete else text
