"""Which dumps to add: files, folders, patterns, lists, and addresses of object stores.

Addresses with ``://`` are opened by fsspec, which finds its credentials where the tools
of each store look for them (for S3, ``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``, …).
"""

from __future__ import annotations

import csv
import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError
from ingest.readers import SUFFIXES
from ingest.readers.source import COMPRESSION_SUFFIXES
from ingest.words.command_line import install_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_REMOTE = "://"
_COPY_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class FleetSource:
    """A file that is to be added.

    Attributes:
        address: An absolute path, or an address with ``://``.
        size_bytes: Size as stored, compressed or not.
        version: Time of modification in nanoseconds, or the store's tag.
        labels: By name; ``program``, ``version``, ``host``, ``time`` and ``uptime``
            have columns of their own.
    """

    address: str
    size_bytes: int
    version: str
    labels: Mapping[str, str] = field(default_factory=dict)


def find_sources(
    given: Sequence[str],
    pattern: LabelPattern | None = None,
    manifest: Path | None = None,
    *,
    must_find: bool = True,
) -> list[FleetSource]:
    """All files that ``given`` and ``manifest`` name, each once, sorted by address.

    Args:
        given: Files, folders (with all dumps in them and in folders below, by suffix),
            patterns with ``*``, addresses of such, and ``@FILE``, a list of these, one
            a line.
        pattern: Finds labels in addresses.
        manifest: A CSV file with a column ``source``, and one for each label. Its
            labels prevail over those of the pattern.
        must_find: Whether it is an error if there is no file yet, or if none matches
            the pattern.

    Raises:
        IngestError: a file or a folder is missing, a list cannot be read, the pattern
            matches no address, or a package that an address needs is not installed.
    """
    labels_of: dict[str, dict[str, str]] = {}
    names = [name for entry in given for name in _listed(entry)]
    if manifest is not None:
        for row in _rows(manifest):
            listed = row.pop("source")
            labels_of[_normal(listed)] = {k: v for k, v in row.items() if v}
            names.append(listed)
    found: dict[str, FleetSource] = {}
    for name in names:
        for source in _expand(name):
            found[source.address] = source
    if must_find and not found:
        raise IngestError(
            "no dump found; name files, folders or patterns that match some"
            + "".join(map(_of_kept, names[:1]))
        )
    matched = {address: pattern.match(address) if pattern else {} for address in found}
    if must_find and pattern and not any(matched.values()):
        raise IngestError(pattern.matches_none(sorted(found)))
    return [
        replace(source, labels=matched[address] | labels_of.get(address, {}))
        for address, source in sorted(found.items())
    ]


def is_remote(address: str) -> bool:
    """Whether a file is in an object store."""
    return _REMOTE in address


@contextmanager
def local_copy(source: FleetSource, folder: Path) -> Iterator[Path]:
    """The file itself, or a copy in ``folder`` that exists as long as the block.

    Raises:
        OSError: it cannot be read, or the disk is full.
        IngestError: a package that its address needs is not installed.
    """
    if not is_remote(source.address):
        yield Path(source.address)
        return
    files, path = _file_system(source.address)
    copy = folder / (path.rpartition("/")[2] or "dump")
    try:
        _fetch(files, path, copy, source.size_bytes)
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def _fetch(files: Any, path: str, copy: Path, size_bytes: int) -> None:  # noqa: ANN401
    """Copy a whole file of an object store."""
    try:
        with files.open(path, "rb") as remote, copy.open("wb") as local:
            while piece := remote.read(_COPY_BYTES):
                local.write(piece)
    except OSError:
        raise
    except Exception as error:  # each store has errors of its own
        raise OSError(f"cannot be fetched ({error})") from error
    if copy.stat().st_size != size_bytes:
        raise OSError("it has changed, or was not fetched completely")


def _listed(entry: str) -> Iterable[str]:
    if not entry.startswith("@"):
        return [entry]
    try:
        lines = Path(entry[1:]).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise IngestError(f"{entry[1:]}: the list cannot be read ({why})") from error
    return [line.strip() for line in lines if line.strip() and line[0] != "#"]


def _rows(manifest: Path) -> list[dict[str, str]]:
    try:
        with manifest.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, restkey="", restval=""))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise IngestError(f"{manifest}: the manifest cannot be read ({why})") from error
    for number, row in enumerate(rows, start=2):
        if not row.get("source"):
            raise IngestError(
                f"{manifest}: line {number}: no value in the column source"
            )
        if "" in row:
            raise IngestError(
                f"{manifest}: line {number}: more values than there are columns"
            )
    return rows


def manifest_labels(manifest: Path) -> dict[str, dict[str, str]]:
    """The labels of a manifest, by address.

    Raises:
        IngestError: it cannot be read.
    """
    return {
        _normal(row["source"]): {k: v for k, v in row.items() if v and k != "source"}
        for row in _rows(manifest)
    }


def _normal(name: str) -> str:
    return name if _REMOTE in name else str(Path(name).absolute())


def _is_dump_name(name: str) -> bool:
    """Whether a file in a folder is a dump, by its suffixes."""
    path = name.rpartition("/")[2].lower()
    if path.startswith("."):
        return False
    for suffix in (*COMPRESSION_SUFFIXES, ".zip"):
        path = path.removesuffix(suffix)
    return any(path.endswith(suffix) for suffix in SUFFIXES)


def _expand(name: str) -> Iterator[FleetSource]:
    if _REMOTE in name:
        yield from _expand_remote(name)
        return
    path = Path(name)
    try:
        if path.is_dir():
            files: Iterable[Path] = (
                inner
                for inner in sorted(path.rglob("*"))
                if inner.is_file() and _is_dump_name(inner.name)
            )
        elif path.is_file():
            files = [path]
        elif any(character in name for character in "*?["):
            root = Path(path.anchor or ".")
            relative = path.relative_to(path.anchor) if path.anchor else path
            files = (p for p in sorted(root.glob(str(relative))) if p.is_file())
        else:
            raise IngestError(f"{name}: no such file or folder{_of_kept(name)}")
        for file in files:
            status = file.stat()
            yield FleetSource(
                str(file.absolute()), status.st_size, str(status.st_mtime_ns)
            )
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise IngestError(f"{name}: cannot be read ({why})") from error


def _of_kept(name: str) -> str:
    """What to add if the name is not a file's, but that of a dump read before."""
    outer, mark, _ = name.partition("::")
    kept = Path(outer) / ("types.parquet" if not mark else "")
    if not (kept.is_dir() if mark else kept.is_file()):
        return ""
    return f"; {name} was read before, and a fleet takes the files of dumps"


def _expand_remote(name: str) -> Iterator[FleetSource]:
    files, path = _file_system(name)
    try:
        if any(character in path for character in "*?["):
            entries = files.glob(path, detail=True)
        elif files.isdir(path):
            found = files.find(path, detail=True)
            entries = {p: about for p, about in found.items() if _is_dump_name(p)}
        else:
            entries = {path: files.info(path)}
    except FileNotFoundError as error:
        raise IngestError(f"{name}: no such file or folder") from error
    except Exception as error:  # each store has errors of its own
        raise IngestError(f"{name}: cannot be listed ({error})") from error
    for inner, about in entries.items():
        if about.get("type") == "file":
            yield FleetSource(
                files.unstrip_protocol(inner), int(about["size"] or 0), _tag(about)
            )


def _tag(about: Mapping[str, Any]) -> str:
    for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified"):
        if about.get(key):
            return str(about[key]).strip('"')
    return ""


def _file_system(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise IngestError(
            f"{address}: addresses need fsspec; {install_command('fleet')}"
        ) from error
    try:
        files, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise IngestError(f"{address}: cannot be opened ({error})") from error
    return files, path


_FIELD = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DURATION = re.compile(r"(\d{1,15}(?:\.\d+)?)(s|m|h|d|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TIMES = (
    "%Y%m%dT%H%M%S", "%Y%m%d-%H%M%S", "%Y-%m-%dT%H-%M-%S", "%Y-%m-%d_%H-%M-%S",
    "%Y%m%d%H%M%S", "%Y%m%d",
)  # fmt: skip


_EXAMPLE = "{program}/{version}/{host}-{time}.hprof.gz"
_FOLDERS = ("{program}", "{version}")


class LabelPattern:
    """A pattern such as ``{service}/{version}/{host}-{time}.hprof.gz``.

    It is matched with the end of an address. A field matches text without a slash, as
    short as possible; ``*`` matches anything without a slash.

    Raises:
        IngestError: a field has no valid name, two fields have the same name, or a
            brace has no partner.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        if any(brace in _FIELD.sub("", text) for brace in "{}"):
            raise IngestError(
                f"--label {text}: a brace has no other one; a pattern is such as "
                f"'{_EXAMPLE}'"
            )
        pattern, names = "", set()
        at = 0
        for found in _FIELD.finditer(text):
            name = found[1]
            if not _NAME.fullmatch(name):
                raise IngestError(
                    f"--label {text}: {{{name}}} is not a label name; use "
                    "lower-case letters, digits and _"
                )
            if name in names:
                raise IngestError(f"--label {text}: {{{name}}} is used twice")
            names.add(name)
            pattern += _literal(text[at : found.start()]) + f"(?P<{name}>[^/]+?)"
            at = found.end()
        pattern += _literal(text[at:])
        if not names:
            raise IngestError(f"--label {text}: it has no label such as {{version}}")
        self._expression = re.compile(rf"(?:^|/){pattern}$")

    def matches_none(self, addresses: Sequence[str]) -> str:
        """The message that no address matches, with a pattern for the first one."""
        first = addresses[0]
        *folders, name = first.replace("\\", "/").rpartition("://")[2].split("/")
        stem = name
        for suffix in (*COMPRESSION_SUFFIXES, ".zip", *SUFFIXES):
            stem = stem.removesuffix(suffix)
        above = [
            field for field, _ in zip(_FOLDERS, filter(None, folders), strict=False)
        ]
        example = "/".join([*above, "{host}" + name[len(stem) :]])
        count = len(addresses)
        none = (
            "the file does not match"
            if count == 1
            else f"none of {count:,} files matches"
        )
        return (
            f"--label {self._text}: {none}, such as {first}; a pattern for that one is "
            f"'{example}'"
        )

    def match(self, address: str) -> dict[str, str]:
        """The labels in an address; none if it does not match."""
        found = self._expression.search(address.replace("\\", "/"))
        return found.groupdict() if found else {}


def _literal(text: str) -> str:
    return "[^/]*".join(re.escape(piece) for piece in text.split("*"))


def program_of(labels: Mapping[str, str]) -> str | None:
    """The program that was dumped; also labelled as ``service``."""
    return labels.get("program") or labels.get("service") or None


def time_of(text: str | None) -> datetime | None:
    """A label as a time in UTC: ISO 8601, digits such as 20261122T101500, or seconds.

    Returns:
        A time without a zone, in UTC; ``None`` if it is not understood.
    """
    if not text:
        return None
    try:
        if re.fullmatch(r"\d{9,11}(\.\d+)?", text):
            found = datetime.fromtimestamp(float(text), UTC)
        elif re.fullmatch(r"\d{13}", text):
            found = datetime.fromtimestamp(int(text) / 1000, UTC)
        else:
            found = _in_a_form(text.removesuffix("Z")) or datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def _in_a_form(text: str) -> datetime | None:
    for form in _TIMES:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def seconds_of(text: str | None) -> float | None:
    """A duration such as ``90``, ``90s``, ``15m``, ``3h`` or ``2d``, in seconds."""
    found = _DURATION.fullmatch(text or "")
    return float(found[1]) * _SECONDS[found[2]] if found else None
