"""Original names of classes, fields and frames that R8 or ProGuard has shortened.

A mapping has a section for each class: ``app.Order -> a.b:``, then a line for each
field, ``java.util.List lines -> c``, and for each method, with ranges of lines where
these were moved or inlined: ``1:3:int app.Cart.sum(int):20:22 -> d``. Entries of a
method with one range are inlined calls, innermost first. Comments tell the id of the
build, and the source file of a class.

Source: the description of the format in R8 (``doc/retrace.md``), and the manual of
ProGuard (ReTrace).
"""

from __future__ import annotations

import mmap
import re
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ingest.errors import DumpError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_CLASSES, _MOST_LINES = 2_000_000, 200_000
_END = rb"[ \t]*\r?(?=\n|\Z)"
_CLASS = re.compile(rb"\n([^\s#][^\r\n]{0,4096}?) -> ([^\s:]{1,4096}):" + _END)
_BUILD = re.compile(rb"^# pg_map_id: (\w{1,64})", re.MULTILINE)
_SOURCE_FILE = re.compile(rb'"id":"sourceFile","fileName":"([^"\\\n]{1,255})"')
_FIELD = re.compile(
    rb"\n[ \t]{1,99}(?!#)([^\s():]{1,4096}) ([^\s():]{1,4096}) -> (\S{1,4096})" + _END
)
_METHOD = re.compile(
    rb"\n[ \t]{1,99}(?!#)(?:(\d{1,9}):(\d{1,9}):)?\S{1,4096} ([^\s()]{1,4096})"
    rb"\([^)\n]{0,65536}\)(?::(\d{1,9})(?::(\d{1,9}))?)? -> (\S{1,4096})" + _END
)
_OF_BUILD = "r8-map-id-"
"""Begins the name of the source file of each frame, where R8 was told to say its id."""
_CODES = {
    "boolean": 4, "char": 5, "float": 6, "double": 7, "byte": 8, "short": 9, "int": 10,
    "long": 11,
}  # fmt: skip
_OBJECT = 2
_FEWEST_FIELDS, _LEAST_KNOWN = 5, 0.8
"""From so many fields of renamed classes on, this share of them has to be known."""


class _Method(NamedTuple):
    """An entry of a method: lines of the dump, and where these were originally."""

    first: int
    last: int
    name: str
    original_first: int
    original_last: int

    def line(self, line: int) -> int:
        """The original line; 0 if it is not known."""
        if not self.original_first:
            return line if not self.last else 0
        if self.original_last - self.original_first == self.last - self.first:
            return self.original_first + line - self.first
        return self.original_first


class _Section:
    """What a mapping says of one class, read as far as it is asked for.

    Args:
        name: Its original name; of several classes, all names.
        content: The mapping.
        spans: Where their lines are, without the first ones.
    """

    def __init__(
        self, name: str, content: mmap.mmap, spans: Sequence[tuple[int, int]] = ()
    ) -> None:
        self.name, self._content, self._spans = name, content, spans

    def _lines(self, pattern: re.Pattern[bytes]) -> Iterator[list[str]]:
        for span in self._spans:
            for found in islice(pattern.finditer(self._content, *span), _MOST_LINES):
                yield [
                    (one or b"").decode("utf-8", "replace") for one in found.groups()
                ]

    @cached_property
    def fields(self) -> dict[str, list[tuple[str, int]]]:
        """Original names and type codes of fields, by short names."""
        fields: dict[str, list[tuple[str, int]]] = {}
        for kind, name, short in self._lines(_FIELD):
            fields.setdefault(short, []).append((name, _CODES.get(kind, _OBJECT)))
        return fields

    @cached_property
    def methods(self) -> dict[str, list[_Method]]:
        """Entries of methods, by short names."""
        methods: dict[str, list[_Method]] = {}
        for first, last, name, original, end, short in self._lines(_METHOD):
            begin = int(original or 0)
            entry = _Method(
                int(first or 0), int(last or 0), name, begin, int(end or begin)
            )
            methods.setdefault(short, []).append(entry)
        return methods

    @cached_property
    def file(self) -> str:
        """Its source file, by its name where the mapping has none."""
        for (file,) in self._lines(_SOURCE_FILE):
            return file
        return f"{self.name.rpartition('.')[2].partition('$')[0]}.java"


class OriginalNames:
    """The names of a mapping, read as far as they are asked for.

    Args:
        path: The file.

    Raises:
        DumpError: it cannot be read, or is no mapping.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise self._fault(f"it cannot be read: {error}") from None
        self._spans: dict[str, list[tuple[str, int, int]]] = {}
        self._by_original: dict[str, str] = {}
        last: list[tuple[str, int, int]] = []
        for count, (texts, begin, end) in enumerate(self._classes()):
            if count == _MOST_CLASSES:
                raise self._fault(f"it has more than {count:,} classes")
            original, short = (text.decode("utf-8", "replace") for text in texts)
            if last:
                last[-1] = (*last[-1][:2], begin)
            last = self._spans.setdefault(short, [])
            last.append((original, end, len(self._content)))
            self._by_original.setdefault(original, short)
        if not self._spans:
            raise self._fault(
                "it names no class as R8 and ProGuard do, such as 'app.Order -> a.b:'"
            )
        self._sections: dict[str, _Section] = {}

    def _classes(self) -> Iterator[tuple[tuple[bytes, ...], int, int]]:
        """The names of each class, and begin and end of its line.

        A search for a line end is three times as fast as one for a line's beginning,
        which the first line needs.
        """
        end = self._content.find(b"\n")
        first = self._content[: len(self._content) if end < 0 else end]
        if found := _CLASS.fullmatch(b"\n" + first):
            yield found.groups(), 0, len(first)
        for found in _CLASS.finditer(self._content):
            yield found.groups(), found.start() + 1, found.end()

    def _fault(self, what: str) -> DumpError:
        return DumpError(f"{what}; --mapping takes a mapping.txt", path=self.path)

    @cached_property
    def build(self) -> str:
        """The id of the build; empty if the mapping has none."""
        found = _BUILD.search(self._content)
        return found[1].decode() if found else ""

    def class_name(self, name: str) -> str:
        """The original name of a class, or of an array; ``name`` if it kept that."""
        head, brackets, rest = name.partition("[")
        if head not in self._spans:  # a lambda has the name of its class before its own
            head, lambda_, number = head.partition("$$")
            rest = lambda_ + number + brackets + rest
        else:
            rest = brackets + rest
        return self._section(head).name + rest

    def is_renamed(self, name: str) -> bool:
        """Whether the class with that short name had another one."""
        return self._section(name).name != name

    def field_name(self, owner: str, name: str, code: int) -> str | None:
        """The original name of a field of the class with a short name.

        Args:
            owner: The short name of the class that declares it.
            name: Its short name.
            code: Its type, as HPROF records it.

        Returns:
            Several, between ``|``, where the mapping does not tell them apart; ``None``
            if it has no such field of that type.
        """
        found = self._section(owner).fields.get(name, ())
        return "|".join(sorted({one for one, of in found if of == code})) or None

    def frames(self, owner: str, method: str, source: str, line: int) -> list[str]:
        """A frame, and those of calls that were inlined into it, innermost first.

        Args:
            owner: The short name of the class.
            method: The short name of the method.
            source: The source file that the dump has.
            line: The line that the dump has; 0 or less if there is none.
        """
        section = self._section(owner)
        entries = section.methods.get(method, [])
        known = [one for one in entries if 0 < one.first <= line <= one.last]
        if not known:
            known = [one for one in entries if not one.last] or entries
            known = [one._replace(first=0, last=0) for one in known]
            # Where no line says which of them it is, all are named.
            names = "|".join(sorted({one.name for one in known}))
            known = [known[0]._replace(name=names)] if known else []
        if not known:
            file = section.file if owner in self._spans else source
            return [_frame(section.name, method, file, line)]
        found = []
        for one in known:
            of, dot, name = one.name.rpartition(".")
            if not dot or "|" in one.name:
                of, name, file = section.name, one.name, section.file
            else:
                file = self._section(self._by_original.get(of, of)).file
            found.append(_frame(of, name, file, one.line(line)))
        return found

    def _section(self, short: str) -> _Section:
        """The section of a class; of several with one short name, all names.

        A class that the mapping does not name has kept its own.
        """
        found = self._sections.get(short)
        if found is None:
            spans = self._spans.get(short, ())
            names = "|".join(dict.fromkeys(name for name, _, _ in spans)) or short
            lines = [(begin, end) for _, begin, end in spans]
            found = _Section(names, self._content, lines)
            if spans:
                self._sections[short] = found
        return found


def _frame(owner: str, method: str, file: str, line: int) -> str:
    place = f"{file}:{line}" if line > 0 else file
    return f"{owner}.{method}({place})"


class Renaming:
    """Original names for one dump, and whether the mapping is that of its build.

    Args:
        names: The mapping.
    """

    def __init__(self, names: OriginalNames) -> None:
        self._names = names
        self._fields = self._known = self._classes = 0

    def class_name(self, name: str) -> str:
        """See `OriginalNames.class_name`."""
        self._classes += self._names.is_renamed(name)
        return self._names.class_name(name)

    def field_name(self, owner: str, name: str, code: int) -> str:
        """The original name of a field; ``name`` if the mapping has none."""
        found = self._names.field_name(owner, name, code)
        if self._names.is_renamed(owner):
            self._fields += 1
            self._known += found is not None
        return found or name

    def frame(self, owner: str, method: str, source: str, line: int) -> str:
        """A frame with what was inlined into it; see `OriginalNames.frames`.

        Raises:
            DumpError: the frame names another build.
        """
        names = self._names
        if source.startswith(_OF_BUILD) and (build := names.build):
            other = source.removeprefix(_OF_BUILD)
            if not (build.startswith(other) or other.startswith(build)):
                self._refuse(f"build {build}, and the dump is of build {other}")
        # One text: roots name frames by their number.
        return ", inlined into ".join(names.frames(owner, method, source, line))

    def check(self) -> None:
        """Compare the mapping with what was asked of it.

        Raises:
            DumpError: it is that of another build.
        """
        if not self._classes:
            self._refuse("another program or build: it renames no class of this dump")
        if self._fields >= _FEWEST_FIELDS and self._known < _LEAST_KNOWN * self._fields:
            self._refuse(
                f"another build: it knows {self._known:,} of the {self._fields:,} "
                "fields of the classes that it names"
            )

    def _refuse(self, why: str) -> None:
        raise DumpError(f"the mapping belongs to {why}", path=self._names.path)


@lru_cache(maxsize=2)
def _read(path: Path, _changed_ns: int) -> OriginalNames:
    return OriginalNames(path)


def renaming(path: str | None) -> Renaming | None:
    """Original names by a file; ``None`` where none is given.

    Raises:
        DumpError: it cannot be read, or is no mapping.
    """
    if path is None:
        return None
    changed_ns = 0
    with suppress(OSError):  # said when it is read
        changed_ns = Path(path).stat().st_mtime_ns
    return Renaming(_read(Path(path).absolute(), changed_ns))
