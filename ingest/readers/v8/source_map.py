"""Source maps: where a place of a bundled or minified script was written.

The format is small, and the one library for it on PyPI (``sourcemap``) reads no index
maps and has no limits, so it is read here.

Source: ECMA-426, "Source map format specification" (version 3).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes

import numpy as np

from ingest.arrays.compiled import kernel
from ingest.errors import DumpError
from ingest.words.text import human_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.arrays.compiled import Bytes, Longs

_MOST_BYTES, _MOST_SECTIONS, _MOST_FILES = 256 << 20, 10_000, 20_000
_HIGHEST = (1 << 31) - 1
_FIELDS = 6
"""Columns of a segment: generated line and column, source, line, column, name."""
_NEAR, _FARTHEST, _BETWEEN = 8, 200, (1, 9)
"""How many segments, and columns, the name of a class may precede its constructor; and
what is between its name and the next segment: `` `` or ``=``, and `` extends ``."""
_COMMENT = re.compile(rb"//[#@] ?sourceMappingURL=(\S+)\s*\Z")
_DATA = re.compile(rb"data:[^,]{0,200}?(;base64)?,(.*)", re.DOTALL)
_SCRIPTS = (".js", ".mjs", ".cjs")
_DIGITS = np.full(256, -1, np.int64)
for _value, _character in enumerate(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
):
    _DIGITS[_character] = _value


@kernel
def _decode(data: Bytes, digits: Longs, rows: Longs) -> int:
    """Decode mappings into rows of `_FIELDS` numbers; -1 for what a segment lacks.

    Returns:
        How many segments there are, or -1 - i for a fault at byte i.
    """
    count, at, line = 0, 0, 0
    column = source = source_line = source_column = name = 0
    while at < len(data):
        if data[at] == 0x3B:  # ;
            line, column, at = line + 1, 0, at + 1
            continue
        if data[at] == 0x2C:  # ,
            at += 1
            continue
        fields = 0
        while at < len(data) and data[at] != 0x2C and data[at] != 0x3B:
            value, shift, more = 0, 0, True
            while more:
                if at >= len(data) or shift > 30 or digits[data[at]] < 0:
                    return -1 - at
                digit = digits[data[at]]
                value |= (digit & 31) << shift
                more = (digit & 32) != 0
                shift += 5
                at += 1
            delta = -(value >> 1) if value & 1 else value >> 1
            if fields == 0:
                column += delta
            elif fields == 1:
                source += delta
            elif fields == 2:
                source_line += delta
            elif fields == 3:
                source_column += delta
            elif fields == 4:
                name += delta
            else:
                return -1 - at
            fields += 1
        lowest = min(min(column, source), min(source_line, source_column))
        highest = max(max(column, source), max(source_line, source_column))
        if fields in (2, 3) or min(lowest, name) < 0 or max(highest, name) > _HIGHEST:
            return -1 - at
        rows[count, 0], rows[count, 1] = line, column
        rows[count, 2] = source if fields > 1 else -1
        rows[count, 3], rows[count, 4] = source_line, source_column
        rows[count, 5] = name if fields == 5 else -1
        count += 1
    return count


class Original(NamedTuple):
    """A place in a source: its name, line and column from 0."""

    source: str
    line: int
    column: int


class SourceMap:
    """The map of one script.

    Args:
        found: Its JSON.
        path: The file, for messages.

    Raises:
        DumpError: it is no map of version 3.
    """

    def __init__(self, found: Any, path: Path) -> None:  # noqa: ANN401
        self._path = path
        self.sources: list[str] = []
        self.names: list[str] = []
        try:
            self.file = str(found.get("file") or "")
            sections = found.get("sections")
            if sections is None:
                parts = [self._segments(found, 0, 0)]
            elif len(sections) > _MOST_SECTIONS:
                raise ValueError("it has too many sections")
            else:
                parts = [
                    self._segments(
                        one["map"], int(one["offset"]["line"]),
                        int(one["offset"]["column"]),
                    )
                    for one in sections
                ]  # fmt: skip
        except (
            ArithmeticError, ValueError, TypeError, KeyError, AttributeError,
        ) as error:  # fmt: skip
            why = str(error) if isinstance(error, ValueError) else "it lacks parts"
            raise _fault(path, why) from None
        rows = np.concatenate([np.empty((0, _FIELDS), np.int64), *parts])
        key = (rows[:, 0] << 32) | rows[:, 1]
        order = np.argsort(key, kind="stable")
        self._key, self._rows = key[order], rows[order]

    def _segments(self, one: dict[str, Any], line: int, column: int) -> Longs:
        """Segments of a map, with sources and names numbered throughout the script."""
        if not (0 <= line <= _HIGHEST and 0 <= column <= _HIGHEST):
            raise ValueError("a section is where no script can be")
        if one.get("version") != 3:
            raise ValueError("it is not of version 3")
        mappings = one["mappings"].encode("ascii", "replace")
        data = np.frombuffer(mappings, np.uint8)
        many = mappings.count(b",") + mappings.count(b";") + 1
        rows = np.empty((many, _FIELDS), np.int64)
        count = int(_decode(data, _DIGITS, rows)) if len(data) else 0
        if count < 0:
            raise ValueError(f"its mappings cannot be read at byte {-1 - count:,}")
        rows = rows[:count]
        sources, names = list(one["sources"]), list(one.get("names", ()))
        if count and (
            rows[:, 2].max() >= len(sources) or rows[:, 5].max() >= len(names)
        ):
            raise ValueError("its mappings refer to a source or name that it lacks")
        root = str(one.get("sourceRoot") or "")
        rows[rows[:, 2] >= 0, 2] += len(self.sources)
        rows[rows[:, 5] >= 0, 5] += len(self.names)
        self.sources += [_source(root, str(text or "")) for text in sources]
        self.names += [str(text) for text in names]
        rows[rows[:, 0] == 0, 1] += column
        rows[:, 0] += line
        return rows

    def original(self, line: int, column: int) -> Original | None:
        """The place in a source of a place in the script, both from 0."""
        at = int(np.searchsorted(self._key, (line << 32) | column, side="right")) - 1
        if at < 0 or self._rows[at, 0] != line or self._rows[at, 2] < 0:
            return None
        row = self._rows[at].tolist()
        return Original(self.sources[row[2]], row[3], row[4])

    def has_segments(self, lines: Longs, columns: Longs) -> NDArray[np.bool_]:
        """Bool: whether a segment begins at each of some places."""
        return np.isin((lines << 32) | columns, self._key)

    def named(self) -> tuple[Longs, Longs, Longs]:
        """int64, each: line, column and row of the name of each word that has one."""
        rows = self._rows[self._rows[:, 5] >= 0]
        return rows[:, 0], rows[:, 1], rows[:, 5]

    def text(self) -> str | None:
        """The script, if it is the map's own file or stands beside it."""
        named = [self._path] if self._path.suffix in _SCRIPTS else []
        named += [self._path.with_suffix("")] if self._path.suffix == ".map" else []
        if self.file:
            named.append(self._path.parent / PurePath(self.file).name)
        for path in named:
            if path.suffix in _SCRIPTS and path.is_file():
                return _read(path).decode("utf-8", "replace")
        return None

    def name_at(self, line: int, column: int) -> str:
        """The original name of the word that begins at a place; empty for none."""
        key = (line << 32) | column
        at = int(np.searchsorted(self._key, key))
        if column < 0 or at == len(self._key) or self._key[at] != key:
            return ""
        name = int(self._rows[at, 5])
        return self.names[name] if name >= 0 else ""

    def function_name(self, name: str, line: int, column: int) -> str:
        """The original name of a function or class; empty where the map has none.

        Args:
            name: Its name in the script.
            line: Where V8 says that it is: at its parameters, or at ``class``.
            column: Likewise.
        """
        size = len(name)
        # function a( | a=(x)=> | a=function( | class a{constructor( | a=class{constr...
        places = [column - size - more for more in (0, 1, 9, 12, 18)]
        for place in (*places, column + 6):
            if found := self.name_at(line, place):
                return found
        # A class that extends another: its name is as long as what precedes `extends`.
        last = int(np.searchsorted(self._key, (line << 32) | column)) - 1
        for at in range(last, max(last - _NEAR, 0), -1):
            row, after = self._rows[at], self._rows[min(at + 1, len(self._rows) - 1)]
            if row[0] != line or row[1] < column - _FARTHEST:
                break
            if row[5] >= 0 and after[1] - row[1] - size in _BETWEEN:
                return self.names[int(row[5])]
        return ""


def _source(root: str, text: str) -> str:
    """A source without the folders above the build, and without its bundler."""
    if root and "://" not in text and not text.startswith("/"):
        text = f"{root.rstrip('/')}/{text}"
    text = re.sub(r"^(?:webpack|vite|rollup|turbopack)://[^/]*/", "", text)
    return re.sub(r"^(?:\.{1,2}/)+", "", text)


def _fault(path: Path, why: str) -> DumpError:
    return DumpError(f"{why}; --source-map takes a source map (version 3)", path=path)


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise _fault(path, f"it has more than {human_bytes(_MOST_BYTES)}")
        return path.read_bytes()
    except OSError as error:
        raise _fault(path, f"it cannot be read: {error.strerror}") from None


def _parsed(data: bytes, path: Path) -> SourceMap:
    data = re.sub(rb"\A(?:\xef\xbb\xbf)?(?:\)\]\}'[^\n]*\n)?", b"", data, count=1)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise _fault(path, "it is not JSON") from None
    return SourceMap(found, path)


def _inline(path: Path) -> SourceMap | None:
    """The map in the last line of a script; ``None`` if it has none."""
    found = _COMMENT.search(_read(path))
    if found is None or (data := _DATA.fullmatch(found[1])) is None:
        return None
    content = unquote_to_bytes(data[2])
    if data[1]:
        try:
            content = base64.b64decode(content, validate=True)
        except binascii.Error:
            raise _fault(path, "its inline map is not in base64") from None
    return _parsed(content, path)


class SourceMaps:
    """The maps of a file or folder, by the scripts that they are for.

    Args:
        path: A map, a script with an inline one, or a folder of these.

    Raises:
        DumpError: it cannot be read, or has no map.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._maps: dict[str, list[tuple[Path, SourceMap | None]]] = {}
        self._missing: set[str] = set()
        files = [path]
        if path.is_dir():
            files = sorted(
                one for one in path.rglob("*") if one.suffix in (".map", *_SCRIPTS)
            )[:_MOST_FILES]
        elif path.suffix not in _SCRIPTS:
            known = _parsed(_read(path), path)
            self._add(known.file or path.name.removesuffix(".map"), path, known)
            return
        for file in files:
            if file.suffix == ".map":
                self._add(file.name.removesuffix(".map"), file, None)
            elif (inline := _inline(file)) is not None:
                self._add(file.name, file, inline)
        if not self._maps:
            raise _fault(path, "there is no source map")

    def _add(self, script: str, path: Path, known: SourceMap | None) -> None:
        name = script.replace("\\", "/").rpartition("/")[2]
        self._maps.setdefault(name, []).append((path, known))

    def of(self, script: str) -> SourceMap | None:
        """The map of a script, by its name; of several, that of the nearest folder.

        Raises:
            DumpError: it cannot be read.
        """
        script = script.partition("?")[0].replace("\\", "/")
        folder, _, name = script.rpartition("/")
        found = self._maps.get(name)
        if not found:
            self._missing.add(name or script)
            return None

        def shared(of: tuple[Path, SourceMap | None]) -> int:
            parts = of[0].parent.as_posix().split("/")[::-1]
            wanted = folder.split("/")[::-1]
            pairs = list(zip(parts, wanted, strict=False))
            same = [one == other for one, other in pairs]
            return same.index(False) if False in same else len(same)

        at = max(range(len(found)), key=lambda row: shared(found[row]))
        path, known = found[at]
        if known is None:
            known = _parsed(_read(path), path)
            found[at] = path, known
        return known

    def missing(self) -> list[str]:
        """Names of scripts that were asked for and have no map."""
        return sorted(self._missing)

    def refused(self, why: str) -> DumpError:
        """An error about these maps, to be raised."""
        return DumpError(why, path=self._path)
