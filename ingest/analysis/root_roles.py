"""What the roots of a heap are for: a static field, or the role of a thread.

Roots of one kind are told apart by what stays the same from run to run: the type that
declares a static field and the name of the field, and the name of the thread or isolate
without its numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ingest.analysis.fingerprints import (
    normalised_owner,
    normalised_reference,
    normalised_type,
)

if TYPE_CHECKING:
    from ingest.compiled import Bools, Bytes, Ints
    from ingest.heap.graph import HeapGraph


class Role(NamedTuple):
    """What some roots are for.

    Attributes:
        type_index: Type that declares the static field, or -1.
        reference: Name of the static field; empty if there is none.
        owner: Thread or isolate, without numbers; empty if there is none.
    """

    type_index: int
    reference: str
    owner: str

    def named(self, type_name: str) -> str:
        """The role as text, given the name of its type: no full name of a type."""
        field = " in ".join(name for name in (self.reference, type_name) if name)
        return " of ".join(name for name in (field, self.owner) if name)


class RootRoles(NamedTuple):
    """S roots of a heap, in the order of the dump, and their L roles.

    Attributes:
        root_object: int32 (S,). What each refers to.
        root_kind: uint8 (S,). Its kind.
        role: int32 (S,). Its row in ``roles``, or -1.
        roles: L roles; those of different kinds are different.
        role_kind: uint8 (L,). The kind of the roots of each.
    """

    root_object: Ints
    root_kind: Bytes
    role: Ints
    roles: tuple[Role, ...]
    role_kind: Bytes


def root_roles(graph: HeapGraph, chosen: Bools) -> RootRoles:
    """Find the roles of roots.

    Time: that of sorting the roots.

    Args:
        graph: The heap.
        chosen: bool (R,). The roots.
    """
    kind = graph.root_kind[chosen]
    columns = [
        np.full(len(kind), -1) if column is None else np.maximum(column[chosen], -1)
        for column in (graph.root_type, graph.root_field, graph.root_owner)
    ]
    # One number for each combination; they sort as kind, type, field and owner do.
    number = kind.astype(np.int64)
    for column, names in zip(
        columns, (graph.type_names, graph.field_names, graph.owners), strict=True
    ):
        number = number * (len(names) + 1) + column + 1
    _, first, of = np.unique(number, return_index=True, return_inverse=True)
    place: dict[tuple[int, tuple[str, str, str]], int] = {}
    roles: list[Role] = []
    kinds: list[int] = []
    role = np.full(len(first), -1, np.int32)
    for row, at in enumerate(first.tolist()):
        declaring, field, owner = (int(column[at]) for column in columns)
        names = (
            "" if declaring < 0 else normalised_type(graph.type_names[declaring]),
            "" if field < 0 else normalised_reference(graph.field_names[field]),
            "" if owner < 0 else normalised_owner(graph.owners[owner]),
        )
        if any(names):
            key = (int(kind[at]), names)
            if key not in place:
                place[key] = len(roles)
                roles.append(Role(declaring, *names[1:]))
                kinds.append(int(kind[at]))
            role[row] = place[key]
    return RootRoles(
        graph.root_object[chosen],
        kind,
        role[of],
        tuple(roles),
        np.array(kinds, np.uint8),
    )
