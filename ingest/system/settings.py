"""User settings: environment variables, then ``config.toml``, then defaults.

An environment variable that is empty, or only blanks, counts as not set.
"""

from __future__ import annotations

import fnmatch
import math
import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ingest.errors import IngestError
from ingest.system.places import places, variable

_MOST_BYTES = 64 << 20
_LARGEST = 2**63 - 1

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def _from(variable: str) -> dict[str, str]:
    return {"variable": variable}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a user.

    Attributes:
        neo4j_version: Version of the embedded server, three numbers.
        heap_mib: Java heap of the embedded server, MiB; ``None`` adapts to the machine.
        page_cache_mib: Its page cache, MiB; ``None`` adapts to the machine.
        maven_url: Maven repository for its jars.
        own: Patterns of types that are the program's own, separated by commas.
        salt: Secret that is hashed with redacted names and texts.
        uri: Address of another server; ``None`` for the embedded one.
        username: User at that server.
        password: Password at that server.
        database: Database at that server.

    Raises:
        IngestError: A value is invalid.
    """

    neo4j_version: str = field(
        default="5.26.31", metadata=_from("INGEST_NEO4J_VERSION")
    )
    heap_mib: int | None = field(default=None, metadata=_from("INGEST_NEO4J_HEAP_MIB"))
    page_cache_mib: int | None = field(
        default=None, metadata=_from("INGEST_NEO4J_PAGECACHE_MIB")
    )
    maven_url: str = field(
        default="https://repo1.maven.org/maven2", metadata=_from("INGEST_MAVEN_URL")
    )
    own: str = field(default="", metadata=_from("INGEST_OWN"))
    salt: str = field(default="", metadata=_from("INGEST_SALT"), repr=False)
    uri: str | None = field(default=None, metadata=_from("NEO4J_URI"))
    username: str = field(default="neo4j", metadata=_from("NEO4J_USERNAME"))
    password: str | None = field(
        default=None, metadata=_from("NEO4J_PASSWORD"), repr=False
    )
    database: str = field(default="neo4j", metadata=_from("NEO4J_DATABASE"))

    def __post_init__(self) -> None:
        # The version becomes part of folder names and of URLs.
        if not _VERSION.fullmatch(self.neo4j_version):
            raise IngestError(
                f"neo4j_version {self.neo4j_version!r} is not a version such as "
                "5.26.31: correct INGEST_NEO4J_VERSION or config.toml"
            )
        if not self.maven_url.startswith(("https://", "http://")):
            raise IngestError(
                f"maven_url {self.maven_url!r} is not an http(s) address: "
                "correct INGEST_MAVEN_URL or config.toml"
            )
        for name, value in (
            ("heap_mib", self.heap_mib),
            ("page_cache_mib", self.page_cache_mib),
        ):
            if value is not None and value < 1:
                raise IngestError(f"{name} is {value}; it must be at least 1")


_BUILD, _BUILDS = "{build}", "builds"
_BUILD_NAME = r"(?P<build>[^/]*[^/.][^/]*)"


@dataclass(frozen=True, slots=True)
class Build:
    """Where the original names of builds of a program are: an entry of ``builds``.

    Attributes:
        dumps: Glob of the dumps' files: of the whole path if it has a slash, else of
            the name. ``{build}`` stands for the part that names the build.
        mapping: Their mapping, in which ``{build}`` is replaced.
        source_map: Their source map, or folder of such, likewise.
    """

    dumps: str
    mapping: str | None = None
    source_map: str | None = None

    def of_dump(self, path: str) -> Build | None:
        """The entry for one dump; ``None`` if it is not for it."""
        found = Path(path).absolute()
        text = found.as_posix() if "/" in self.dumps else found.name
        # `translate` ends with two characters for the end of the text.
        parts = [fnmatch.translate(part)[:-2] for part in self.dumps.split(_BUILD)]
        same = re.fullmatch(_BUILD_NAME.join(parts), text)
        if same is None:
            return None
        name = same.groupdict().get("build", "")
        named = [
            None if one is None else one.replace(_BUILD, name)
            for one in (self.mapping, self.source_map)
        ]
        return Build(self.dumps, *named)


_WHOLE_NUMBERS = ("heap_mib", "page_cache_mib")


def settings() -> Settings:
    """Return the current settings of the environment and ``config.toml``.

    Raises:
        IngestError: ``config.toml`` cannot be read or has an unknown key, or a value
            has the wrong type.
    """
    chosen: dict[str, object] = _from_file(places().config / "config.toml")
    for entry in fields(Settings):
        name = entry.metadata["variable"]
        if value := variable(name):
            chosen[entry.name] = (
                _whole_number(value, name) if entry.name in _WHOLE_NUMBERS else value
            )
    return Settings(**chosen)  # type: ignore[arg-type]


def builds() -> tuple[Build, ...]:
    """The entries of ``builds`` in ``config.toml``; paths are relative to its folder.

    Raises:
        IngestError: ``config.toml`` cannot be read, or has other entries.
    """
    path = places().config / "config.toml"
    try:
        entries = read_toml(path).get(_BUILDS, [])
    except FileNotFoundError:
        return ()
    known, found = [entry.name for entry in fields(Build)], []
    for entry in entries if isinstance(entries, list) else [entries]:
        if (
            not isinstance(entry, dict)
            or not {"dumps"} < entry.keys() <= set(known)
            or not all(isinstance(value, str) for value in entry.values())
            or entry["dumps"].count(_BUILD) > 1
        ):
            raise IngestError(
                f"{path}: an entry [[{_BUILDS}]] needs the strings {known[0]}, with "
                f"{_BUILD} at most once, and one of {', '.join(known[1:])}"
            )
        named = {key: str(path.parent / text) for key, text in entry.items()}
        found.append(Build(**named | {"dumps": entry["dumps"]}))
    return tuple(found)


def read_toml(path: Path) -> dict[str, Any]:
    """The contents of a TOML file that a user wrote.

    Raises:
        FileNotFoundError: there is no such file.
        IngestError: it cannot be read, is not TOML, or has a number that is not
            finite or has more than 64 bits.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise IngestError(f"{path} is larger than 64 MiB; name another file")
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise IngestError(f"{path} cannot be read ({error.strerror})") from error
    except RecursionError:
        raise IngestError(f"{path} has too many brackets in one another") from None
    except ValueError as error:  # not TOML, not UTF-8, or a number of 5,000 digits
        raise IngestError(f"{path} is not a TOML file: {error}") from error
    todo: list[object] = [found]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
        elif isinstance(value, float) and not math.isfinite(value):
            raise IngestError(f"{path} has the number {value}; use a finite one")
        elif isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
            raise IngestError(f"{path} has a number of more than 64 bits")
    return found


def _from_file(path: Path) -> dict[str, object]:
    try:
        table = read_toml(path)
    except FileNotFoundError:
        return {}
    table.pop(_BUILDS, None)
    known = [entry.name for entry in fields(Settings)]
    for key, value in table.items():
        if key not in known:
            raise IngestError(
                f"{path}: unknown key {key!r}; known are {', '.join(known)}"
            )
        if key in _WHOLE_NUMBERS:
            if type(value) is not int:  # a bool is an int to isinstance
                raise IngestError(f"{path}: {key} must be a whole number of MiB")
        elif not isinstance(value, str):
            raise IngestError(f"{path}: {key} must be a string")
    return table


def _whole_number(text: str, variable: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise IngestError(
            f"{variable} is {text!r}; it must be a whole number of MiB"
        ) from None
