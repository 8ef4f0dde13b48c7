"""What a user means by an address or a type name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from ingest.database.ask import captions_of
from ingest.errors import NotFound
from ingest.text import caption_of

if TYPE_CHECKING:
    from ingest.database.connection import Database

_HEX = re.compile(r"(?:0[xX])?0*([0-9a-fA-F]{1,16})")


@dataclass(frozen=True, slots=True)
class Subject:
    """An object's address, or a type's full name, as the dump spells it."""

    kind: str
    name: str


def find_subject(database: Database, text: str, dump: int, kind: str = "") -> Subject:
    """Find what ``text`` names: a type's name, full or short, or an address.

    Args:
        database: Where to look.
        text: What the user wrote.
        dump: The dump's number.
        kind: ``object`` or ``type`` where only that will do.

    Raises:
        NotFound: nothing in the dump is called that; the message names what comes
            near.
    """
    if kind != "object":
        _, rows = database.read(
            "MATCH (t:Type) WHERE t.dump = $dump AND t.name = $name "
            "RETURN t.name LIMIT 1",
            {"dump": dump, "name": text},
        )
        if rows:
            return Subject("type", text)
    if kind != "type" and (address := _address(database, text, dump)):
        return Subject("object", address)
    if kind == "object":
        raise NotFound(f"the dump has no object {text!r}")
    return Subject("type", _by_short_name(database, text, dump))


def _address(database: Database, text: str, dump: int) -> str | None:
    match = _HEX.fullmatch(text.strip())
    if match is None:
        return None
    address = "0x" + match[1].lower()
    _, rows = database.read(
        "MATCH (o:Object) WHERE o.dump = $dump AND o.address = $address "
        "RETURN count(o)",
        {"dump": dump, "address": address},
    )
    if cast("int", rows[0][0]):
        return address
    if text.lower().startswith("0x"):
        raise NotFound(f"the dump has no object {address}")
    return None


def _by_short_name(database: Database, text: str, dump: int) -> str:
    _, rows = database.read(
        "MATCH (t:Type) WHERE t.dump = $dump AND t.instance_count > 0 "
        "RETURN DISTINCT t.name AS name ORDER BY name",
        {"dump": dump},
    )
    names = [cast("str", row[0]) for row in rows]
    wanted = text.casefold()
    caption = captions_of(database, dump).of
    same = [n for n in names if wanted in (n.casefold(), caption(n).casefold())]
    same = same or [n for n in names if wanted == caption_of(n).casefold()]
    if len(same) == 1:
        return same[0]
    near = same or [name for name in names if wanted in name.casefold()]
    near = near or get_close_matches(text, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near[:3])}" if near else ""
    raise NotFound(f"the dump has no type or object {text!r}{hint}")
