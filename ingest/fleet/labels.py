"""Labels of a dump, found in its address: program, version, host and time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ingest.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELD = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TIMES = (
    "%Y%m%dT%H%M%S", "%Y%m%d-%H%M%S", "%Y-%m-%dT%H-%M-%S", "%Y-%m-%d_%H-%M-%S",
    "%Y%m%d%H%M%S", "%Y%m%d",
)  # fmt: skip


class LabelPattern:
    """A pattern such as ``{service}/{version}/{host}-{time}.hprof.gz``.

    It is compared with the end of an address. A field stands for text without a slash,
    as short as possible; ``*`` for anything without a slash.

    Raises:
        IngestError: a field has no proper name, or there are two of one name.
    """

    def __init__(self, text: str) -> None:
        pattern, names = "", set()
        at = 0
        for found in _FIELD.finditer(text):
            name = found[1]
            if not _NAME.fullmatch(name):
                raise IngestError(
                    f"--label {text}: {{{name}}} is no name of a label; use small "
                    "letters, digits and _"
                )
            if name in names:
                raise IngestError(f"--label {text}: {{{name}}} stands there twice")
            names.add(name)
            pattern += _literal(text[at : found.start()]) + f"(?P<{name}>[^/]+?)"
            at = found.end()
        pattern += _literal(text[at:])
        if not names:
            raise IngestError(f"--label {text}: it has no {{label}}")
        self._expression = re.compile(rf"(?:^|/){pattern}$")

    def match(self, address: str) -> dict[str, str]:
        """The labels in an address; none where it is not like the pattern."""
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
        A time without a zone, in UTC; ``None`` where it is not understood.
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
