"""What a Ruby heap dump records."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.readers.ruby.scan import MOST_LINES, MOST_METHODS

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Site(NamedTuple):
    """Where objects were allocated.

    Attributes:
        file: As Ruby names it.
        line: 0 where that is not known.
        method: Empty where that is not known.
    """

    file: str
    line: int
    method: str

    @property
    def label(self) -> str:
        """Such as ``shop.rb:7 in new``."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place} in {self.method}" if self.method else place


@dataclass(slots=True)
class RubyRecords:
    """What a file records.

    Attributes:
        columns: As in `ingest.readers.ruby.scan.RubyBuffers`, of all objects; with
            lines counted from the beginning of the file.
        texts: Kinds of roots, types, files, methods and names, row by row.
        site_keys: The sites, row by row, as numbers made of rows of texts.
        type_keys: Addresses of classes, row by row, and numbers made of `OF_TYPE` or
            `OF_IMEMO` and the row of a text.
    """

    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    site_keys: list[int] = field(default_factory=list)
    type_keys: list[int] = field(default_factory=list)

    def site(self, row: int) -> Site:
        """The site of that row."""
        rest, method = divmod(self.site_keys[row], MOST_METHODS)
        file, line = divmod(rest, MOST_LINES)
        return Site(self.texts[file], line, self.texts[method - 1] if method else "")

    def files(self) -> frozenset[str]:
        """Files in which objects were allocated."""
        rows = {key // MOST_METHODS // MOST_LINES for key in self.site_keys}
        return frozenset(self.texts[row] for row in rows)


def decoded(text: bytes) -> str:
    """A text as it stands between quotes in JSON; halves of characters are replaced."""
    plain = text.decode("utf-8", "replace")
    if "\\" not in plain:
        return plain
    try:
        found = str(json.loads(f'"{plain}"', strict=False))
    except ValueError:
        return plain
    return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
