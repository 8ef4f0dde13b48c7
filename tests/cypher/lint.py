"""What a query's text says: a reader of tokens, not of all Cypher.

It relies on the style of the library: `:Label` without a blank behind the colon,
`key: value` with one, clauses in capitals.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from ingest.tables.fleet_graph import FLEET_LABELS, FLEET_RELATIONSHIPS
from ingest.tables.schema import LABELS, LINKS, MOST, NEXT, RELATIONSHIPS, SIZES

if TYPE_CHECKING:
    from ingest.tables.column import Label, Relationship
    from ingest.tables.fleet_graph import FleetLabel, FleetRelationship

WRITES = {"CREATE", "DELETE", "DETACH", "DROP", "FOREACH", "INSERT", "LOAD"} | {
    "MERGE",
    "REMOVE",
    "SET",
    "TRANSACTIONS",
}
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|//[^\n]*")
_RELATION = re.compile(r"\[\s*\w*\s*:\s*([A-Za-z_|]+)([^\]]*)\]")
_LABEL = re.compile(r"(\(?)(\w*):([A-Z]\w*(?:\|[A-Z]\w*)*)( \{[^}]*\})?")
_OPEN_ENDED = re.compile(r"\{\s*\d*\s*,\s*\}|(?:->|\)|<-|\]-)[+*]")
_PROPERTY = re.compile(r"\b([a-zA-Z_]\w*)\.([a-zA-Z_]\w*)\b")
_KEY = re.compile(r"\b(\w+): ")


class Text:
    """One query without its strings and comments."""

    def __init__(self, text: str) -> None:
        self.text = _TEXT.sub("''", text)

    @cached_property
    def relations(self) -> list[tuple[list[str], str]]:
        """(types, what follows them) of each relationship pattern."""
        found = _RELATION.findall(self.text)
        return [(types.split("|"), rest.strip()) for types, rest in found]

    @cached_property
    def labels(self) -> list[tuple[str, list[str], list[str]]]:
        """(variable, labels, property keys) of each node pattern.

        A predicate such as ``n:Root`` says what a node may be, not what it is: it
        comes without a variable.
        """
        nodes = _RELATION.sub("[]", self.text)
        return [
            (variable if bracket else "", labels.split("|"), _KEY.findall(keys))
            for bracket, variable, labels, keys in _LABEL.findall(nodes)
        ]

    @cached_property
    def properties(self) -> list[tuple[str, str]]:
        """(variable, property) of each access."""
        return _PROPERTY.findall(self.text)

    @cached_property
    def columns(self) -> list[str]:
        """Names of what the last RETURN gives; only its line begins with it."""
        answer = re.split(r"(?m)^RETURN\b", self.text)[-1]
        answer = re.split(r"(?m)^ORDER BY\b", answer)[0]
        items, depth = [""], 0
        for character in answer:
            depth += (character in "([{") - (character in ")]}")
            if character == "," and not depth:
                items.append("")
            else:
                items[-1] += character
        return [item.split()[-1] for item in items]

    def faults(self) -> list[str]:
        """What is wrong with it, one line each."""
        labels: list[Label | FleetLabel] = [*LABELS, *FLEET_LABELS]
        known = {label.name: {p.name for p in label.properties} for label in labels}
        known |= dict.fromkeys((MOST, *dict(SIZES)), known["Object"])
        relations: list[Relationship | FleetRelationship] = [
            *RELATIONSHIPS,
            *FLEET_RELATIONSHIPS,
        ]
        types = {relation.name for relation in relations}
        types |= {link.name for link in (*LINKS, NEXT)}
        anything = set().union(*known.values())
        anything |= {p.name for r in relations for p in r.properties}
        anything |= self._own_keys()
        found = [f"write clause {w}" for w in WRITES & set(self._words())]
        found += [f"no upper bound: {b}" for b in _OPEN_ENDED.findall(self.text)]
        for names, rest in self.relations:
            found += [f"no relationship type {n}" for n in names if n not in types]
            if rest.startswith("*") and not re.match(r"\*\d*\.\.\d+", rest):
                found.append(f"no upper bound: {rest}")
        seen: dict[str, set[str]] = {}
        for variable, names, keys in self.labels:
            found += [f"no label {name}" for name in names if name not in known]
            fields = set().union(*(known.get(name, set()) for name in names))
            found += [f"{names} has no {key}" for key in keys if key not in fields]
            seen.setdefault(variable, set()).update(fields)
        for variable, name in self.properties:
            if name not in seen.get(variable, anything):
                found.append(f"{variable} has no {name}")
        return found

    def _own_keys(self) -> set[str]:
        """Keys of maps that the query itself makes."""
        plain = _LABEL.sub("", self.text)
        return set(_KEY.findall(plain))

    def _words(self) -> list[str]:
        return re.findall(r"\b[A-Z]+\b", self.text)
