"""Finding an object or a type by what a user writes instead of its full name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from ingest.errors import NotFound
from ingest.words.command_line import command, quoted
from ingest.words.text import caption_of, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_HEX = re.compile(r"(?:0[xX])?0*([0-9a-fA-F]{1,16})")
_SEPARATORS = re.compile(r"::|[$+/]")
"""Separators between outer and inner type, or between library and type."""

_CLEARLY_MEANT = 0.8
"""With this similarity, a misspelt name stands for the only similar one."""

_NEAR = 0.75
"""The least similarity of a name that is suggested."""

_LISTED = 3


@dataclass(frozen=True, slots=True)
class TypeFound:
    """The type that was meant.

    Attributes:
        name: Its full name.
        notice: A notice if the user wrote another name; else empty.
    """

    name: str
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """An object's address, or a type's full name, as the dump spells it.

    Attributes:
        kind: ``object`` or ``type``.
        name: The address or the name.
        notice: A notice if the user wrote another name; else empty.
    """

    kind: str
    name: str
    notice: str = ""


class Names(Protocol):
    """The names of objects and types in a dump."""

    def known(self, address: str, name: str) -> tuple[bool, bool]:
        """Whether an object has the address, and whether a type has the full name."""

    def instance_counts(self) -> Mapping[str, int]:
        """Instances of each type by full name, over all domains."""

    def caption(self, name: str) -> str:
        """The short name of a type."""

    def elsewhere(self, text: str, address: str = "") -> str:
        """The end of an error: other dumps with the type or object, if any."""


def find_subject(text: str, which: str, names: Names, kind: str = "") -> Subject:
    """Find the subject that ``text`` names: a type (see `KnownTypes`), or an address.

    Args:
        text: What the user wrote.
        which: The dump in words, for errors.
        names: The dump's names.
        kind: ``object`` or ``type`` if only this is allowed.

    Raises:
        NotFound: the dump has nothing with that name, or several types; the message
            suggests similar names.
    """
    if kind != "type" and (address := _address(text, which, names)):
        return Subject("object", address)
    if kind == "object":
        raise NotFound(f"{which} has no object {text!r}")
    counts = names.instance_counts()
    try:
        found = KnownTypes(counts, names.caption).find(text)
    except NotFound as error:
        raise NotFound(f"{which}: {error}") from None
    what = "type" if kind else "type or object"
    if found is None and (others := names.elsewhere(text)):
        raise NotFound(f"{which} has no {what} {text!r}{others}")
    found = found or guess_type(text, counts)
    if found is None:
        listing = command("info", "DUMP", "--top", "100")
        meant = hint(text, counts) or f"; {listing} lists its types"
        raise NotFound(f"{which} has no {what} {text!r}{meant}")
    return Subject("type", found.name, found.notice)


def _address(text: str, which: str, names: Names) -> str | None:
    match = _HEX.fullmatch(text.strip())
    if match is None:
        return None
    address = "0x" + match[1].lower()
    is_object, is_type = names.known(address, text)
    if is_type:  # such as a class Bad
        return None
    if is_object:
        return address
    if text.lower().startswith("0x"):
        others = names.elsewhere(text, address)
        raise NotFound(f"{which} has no object {address}{others}")
    return None


class KnownTypes:
    """The types of a dump, by all the names that a user may give them.

    Args:
        instance_counts: Instances of each type, by full name.
        captions: Returns the short name of a type.
    """

    def __init__(
        self,
        instance_counts: Mapping[str, int],
        captions: Callable[[str], str] = caption_of,
    ) -> None:
        self._counts, self._captions = instance_counts, captions

    def find(self, text: str) -> TypeFound | None:
        """Find the type that ``text`` names.

        The text is a full name, or it matches only one type as a short name, as the
        end of a name with ``.`` between outer and inner type, or in any case. Types
        without instances come last.

        A shell turns an unquoted ``Outer$Inner`` into ``Outer``. So if ``Outer`` has
        no instances but an inner type has, the inner type is meant.

        Args:
            text: What the user wrote.

        Returns:
            The type; ``None`` if no type matches: see `guess_type`.

        Raises:
            NotFound: Several types match; the message names them.
        """
        if text in self._counts:
            return _with_instances(text, self._counts)
        for spelled in (self._living, self._all):
            if same := spelled.same(text):
                if len(same) > 1:
                    raise NotFound(
                        f"several types are called {text!r}: {_listed(same)}"
                    )
                return _with_instances(same[0], self._counts)
        return None

    @cached_property
    def _living(self) -> _Spelled:
        living = [name for name, count in self._counts.items() if count > 0]
        return _Spelled(living, self._captions)

    @cached_property
    def _all(self) -> _Spelled:
        names = list(self._counts)
        if len(names) == len(self._living.names):
            return self._living
        return _Spelled(names, self._captions)


def guess_type(text: str, instance_counts: Mapping[str, int]) -> TypeFound | None:
    """Return the one type whose name is like ``text``, with a notice.

    Args:
        text: What the user wrote; `KnownTypes` does not find it.
        instance_counts: Instances of each type of the dump, by full name.

    Returns:
        The type; ``None`` if no name or several are similar: see `hint`.
    """
    near = _near(text, instance_counts)
    if len(near) > 1 or not _is_part(text, *near):
        near = [name for name in near if _similarity(text, name) >= _CLEARLY_MEANT]
    if len(near) != 1:
        return None
    return TypeFound(
        near[0], f"no type is named {printable(text)}; showing {printable(near[0])}"
    )


def hint(text: str, instance_counts: Mapping[str, int]) -> str:
    """Return the end of an error: the types that ``text`` may mean; empty if none."""
    near = _near(text, instance_counts)
    return f"; did you mean {_listed(near)}" if near else ""


def _near(text: str, instance_counts: Mapping[str, int]) -> list[str]:
    living = sorted(name for name, count in instance_counts.items() if count > 0)
    if near := [name for name in living if _is_part(text, name)]:
        return near
    names: dict[str, list[str]] = {}
    for name in living:
        for form in _forms(name):
            names.setdefault(form, []).append(name)
    # Three times as many, since each type has three forms.
    close = get_close_matches(_folded(text), names, n=3 * _LISTED, cutoff=_NEAR)
    return list(dict.fromkeys(name for form in close for name in names[form]))


def _forms(name: str) -> set[str]:
    """Forms in which a user may write a name: full, short, innermost."""
    return {_folded(name), _folded(caption_of(name)), _innermost(name)}


def _innermost(name: str) -> str:
    short = _folded(caption_of(name))
    return short if "[" in short else short.rpartition(".")[2]


def _folded(name: str) -> str:
    return _plain(name).casefold()


def _is_part(text: str, name: str = "") -> bool:
    return _folded(text) in _folded(name)


def _similarity(text: str, name: str) -> float:
    """Similarity of the last parts, 0 to 1, since the parts before are often equal."""
    return SequenceMatcher(None, _innermost(name), _innermost(text)).ratio()


class _Spelled:
    """Names of types in the forms in which they may be written, made once.

    Attributes:
        names: Their full names.
    """

    def __init__(self, names: list[str], captions: Callable[[str], str]) -> None:
        self.names = names
        self._shown = [(_plain(name), _plain(captions(name))) for name in names]
        self._exact = self._by_form(self._shown)

    @cached_property
    def _folded(self) -> list[tuple[str, str]]:
        return [(full.casefold(), short.casefold()) for full, short in self._shown]

    @cached_property
    def _in_any_case(self) -> dict[str, list[str]]:
        return self._by_form(self._folded)

    @cached_property
    def _short(self) -> dict[str, list[str]]:
        return self._by_form((_folded(caption_of(name)),) for name in self.names)

    def _by_form(self, forms: Iterable[tuple[str, ...]]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, mine in zip(self.names, forms, strict=True):
            for form in {*mine}:
                found.setdefault(form, []).append(name)
        return found

    def same(self, text: str) -> list[str]:
        """Types that ``text`` names, by the strictest rule that finds one."""
        wanted = _plain(text)
        folded = wanted.casefold()
        return (
            self._exact.get(wanted)
            or self._in_any_case.get(folded)
            or self._short.get(folded)
            or self._ending(self._shown, wanted)
            or self._ending(self._folded, folded)
        )

    def _ending(self, forms: list[tuple[str, str]], wanted: str) -> list[str]:
        end = f".{wanted}"
        return [
            name
            for name, (full, short) in zip(self.names, forms, strict=True)
            if full.endswith(end) or short.endswith(end)
        ]


def _plain(name: str) -> str:
    return _SEPARATORS.sub(".", name)


def _with_instances(name: str, instance_counts: Mapping[str, int]) -> TypeFound:
    if instance_counts[name] > 0:
        return TypeFound(name)
    inner = sorted(
        other
        for other, count in instance_counts.items()
        if count > 0 and other.startswith((f"{name}$", f"{name}+"))
    )
    if not inner:
        return TypeFound(name, f"{printable(name)} has no instances in this dump")
    if len(inner) > 1:
        raise NotFound(
            f"{printable(name)} has no instances, its inner types have: "
            f"{_listed(inner)} (in quotes, or the shell takes what follows $)"
        )
    return TypeFound(
        inner[0], f"showing {printable(inner[0])}: {printable(name)} has no instances"
    )


def _listed(names: list[str]) -> str:
    """Some names, quoted so that they can be pasted."""
    return " or ".join(map(quoted, names[:_LISTED]))
