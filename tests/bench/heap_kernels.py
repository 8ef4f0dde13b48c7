"""Compiled loops of the synthetic heaps: who owns, who refers, and the text.

Nothing is drawn from a stateful generator: every decision hashes the seed, the
question and the row, so that loops may be cut anywhere and need no memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bytes, Ints, Longs, Numbers, Starts

STRING, OBJECT_ARRAY, NODE, BYTES = range(4)
"""Types with a part of their own; all others are drawn."""
LEAF, RECORD, ARRAY = range(3)
"""Roles of types."""
ANY = -1
"""Declared type of a field that may hold anything."""

_TRIES = 8
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


@kernel
def uniform(seed: int, question: int, row: int) -> float:
    """A number in [0, 1) that depends on nothing else.

    Source: the finalizer of SplitMix64 (Steele, Lea, Flood, 2014).
    """
    x = np.uint64(row) * np.uint64(0x9E3779B97F4A7C15)
    x ^= np.uint64(question) * np.uint64(0xD1B54A32D192ED03)
    x += np.uint64(seed) * np.uint64(0x8CB92BA72F3D8DD7)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return np.float64(x >> np.uint64(11)) * 2.0**-53


@kernel
def is_garbage(seed: int, row: int, share: float, first: int) -> bool:
    """Whether nothing live refers to an object; those in front are all live."""
    return row >= first and uniform(seed, 1, row) < share


@kernel
def _island(islands: Longs, row: int) -> int:
    """Which island a row lies in; -1 for the mainland."""
    for i in range(len(islands)):
        if islands[i, 0] <= row < islands[i, 1]:
            return i
    return -1


@kernel
def draw_types(
    seed: int,
    shares: Numbers,
    tables: int,
    islands: Longs,
    chains: Longs,
    types: Numbers,
) -> None:
    """Give every object a type, by cumulative shares; chains are nodes.

    ``tables`` rows in front are arrays of statics; ``islands`` int64 (I, 2) are first
    row, an array, and end of each; ``chains`` int64 (C, 2) first row and nodes, every
    other row being a node. ``types`` int16 (N,) is filled.
    """
    for row in range(len(types)):
        types[row] = np.searchsorted(shares, uniform(seed, 2, row), "right")
    for c in range(len(chains)):
        for k in range(chains[c, 1]):
            types[chains[c, 0] + 2 * k] = NODE
    types[:tables] = OBJECT_ARRAY
    for i in range(len(islands)):
        types[islands[i, 0]] = OBJECT_ARRAY


@kernel
def by_type(types: Numbers, begins: Longs, place: Longs, order: Ints) -> None:
    """Rows sorted by type; ``begins`` and ``place`` int64 (T + 1,) are filled too."""
    begins[:] = 0
    for row in range(len(types)):
        begins[types[row] + 1] += 1
    for t in range(len(begins) - 1):
        begins[t + 1] += begins[t]
    for t in range(len(begins)):
        place[t] = begins[t]
    for row in range(len(types)):
        order[place[types[row]]] = row
        place[types[row]] += 1


@kernel
def draw_owners(
    seed: int,
    garbage: float,
    tables: int,
    types: Numbers,
    begins: Longs,
    order: Ints,
    owner_types: Ints,
    owner_counts: Ints,
    islands: Longs,
    chains: Longs,
    seen: Longs,
    owners: Ints,
) -> int:
    """Give every live object an earlier, live object that refers to it.

    The owner's type is one that declares such a field; of its instances recent
    ones are likelier, evenly over the logarithm of the distance. Garbage is owned
    by garbage or by nothing. ``seen`` int64 (T + 1,) is zero when called.

    Returns:
        How many have an owner.
    """
    owned = 0
    for row in range(len(types)):
        t = types[row]
        dead = is_garbage(seed, row, garbage, tables)
        owner = -1
        island = _island(islands, row)
        entrance = island >= 0 and row == islands[island, 0]
        if row >= tables and t != NODE and not entrance:
            for attempt in range(_TRIES):
                pick = uniform(seed, 16 + attempt, row) * owner_counts[t]
                p = owner_types[t, int(pick)]
                if seen[p] == 0:
                    continue
                far = np.exp(uniform(seed, 32 + attempt, row) * np.log(seen[p] + 1.0))
                place = begins[p] + seen[p] - min(int(far), seen[p])
                holder = order[place]
                if (
                    is_garbage(seed, holder, garbage, tables) == dead
                    and _island(islands, holder) == island
                ):
                    owner = holder
                    break
        if owner < 0 and not dead and row > 0:
            if island >= 0 and not entrance:
                owner = islands[island, 0]
            else:
                owner = row % tables if row >= tables else 0
        owners[row] = owner
        owned += owner >= 0
        seen[t] += 1
    for c in range(len(chains)):
        for k in range(1, chains[c, 1]):
            row = chains[c, 0] + 2 * k
            owned += owners[row] < 0
            owners[row] = row - 2
    return owned


@kernel
def weigh(
    seed: int, types: Numbers, roles: Numbers, fields: Ints, weights: Numbers
) -> int:
    """How many more references each object would like to have; returns the sum."""
    total = 0
    for row in range(len(types)):
        t = types[row]
        wish = 0.0
        if roles[t] == RECORD:
            wish = fields[t]
        elif roles[t] == ARRAY:
            wish = min(2.0 * (1.0 - uniform(seed, 3, row)) ** -0.9, 20_000.0)
        weights[row] = int(wish)
        total += int(wish)
    return total


@kernel
def place_references(
    weights: Ints, wishes: int, left: int, huge: Longs, owners: Ints, starts: Longs
) -> None:
    """Turn wishes into exactly ``left`` references more; fill ``starts``.

    ``weights`` int32 (N,) are wishes, then what each object gets; ``huge`` int64 (H, 2)
    rows that get a number of references besides. ``starts`` int64 (N + 1,) counts owned
    objects too.
    """
    before = 0
    given = 0
    for row in range(len(weights)):
        before += weights[row]
        upto = before * left // wishes if wishes else 0
        weights[row] = upto - given
        given = upto
    for h in range(len(huge)):
        weights[huge[h, 0]] += huge[h, 1]
    weights[len(weights) - 1] += left - given
    starts[:] = 0
    for row in range(len(weights)):
        starts[row + 1] += weights[row]
        if owners[row] >= 0:
            starts[owners[row] + 1] += 1
    for row in range(len(weights)):
        starts[row + 1] += starts[row]


@kernel
def _near(
    seed: int, question: int, row: int, rows: int, begin: int, end: int, order: Ints
) -> int:
    """An instance (of those in ``order[begin:end]``) allocated about where row was."""
    count = end - begin
    middle = int(row / rows * count)
    far = int(np.exp(uniform(seed, question, row) * np.log(count + 1.0))) - 1
    if uniform(seed, question + 1, row) < 0.5:
        far = -far
    place = middle + far
    if place < 0 or place >= count:
        place = middle - far
    return int(order[begin + min(max(place, 0), count - 1)])


@kernel
def refer(
    seed: int,
    garbage: float,
    tables: int,
    hub_share: float,
    types: Numbers,
    roles: Numbers,
    begins: Longs,
    order: Ints,
    fields: Ints,
    field_types: Ints,
    hubs: Ints,
    hub_of_type: Ints,
    islands: Longs,
    huge: Longs,
    huge_types: Ints,
    owners: Ints,
    starts: Longs,
    used: Ints,
    targets: Ints,
) -> None:
    """Fill ``targets``: owned objects first, then each field by its declared type.

    ``used`` int32 (N,), zeros, counts the references filled.
    """
    rows = len(types)
    for row in range(rows):
        owner = owners[row]
        if owner >= 0:
            targets[starts[owner] + used[owner]] = row
            used[owner] += 1
    for row in range(rows):
        t = types[row]
        live = not is_garbage(seed, row, garbage, tables)
        island = _island(islands, row)
        first = starts[row] + used[row]
        for e in range(first, starts[row + 1]):
            question = 100 + 64 * (e - first)
            target = -1
            if roles[t] == RECORD and uniform(seed, question, row) < hub_share:
                target = hubs[hub_of_type[t]]
            declared = ANY
            if fields[t]:
                declared = field_types[t, (e - first) % fields[t]]
            attempt = 0
            while target < 0 and attempt < _TRIES:
                ask = question + 4 * attempt + 1
                if declared == ANY:
                    target = int(uniform(seed, ask, row) * rows)
                    if types[target] == NODE:
                        target = min(target + 1, rows - 1)
                elif begins[declared] < begins[declared + 1]:
                    target = _near(
                        seed,
                        ask,
                        row,
                        rows,
                        begins[declared],
                        begins[declared + 1],
                        order,
                    )
                else:
                    break
                place = _island(islands, target)
                if (place >= 0 and place != island) or (
                    live and is_garbage(seed, target, garbage, tables)
                ):
                    target = -1
                attempt += 1
            targets[e] = hubs[hub_of_type[t]] if target < 0 else target
    for h in range(len(huge)):
        row, count = huge[h, 0], huge[h, 1]
        begin, end = begins[huge_types[h]], begins[huge_types[h] + 1]
        for i in range(count):
            target = order[begin + i % (end - begin)] if end > begin else hubs[0]
            if _island(islands, target) >= 0 or is_garbage(
                seed, target, garbage, tables
            ):
                target = hubs[i % len(hubs)]
            targets[starts[row + 1] - count + i] = target


@kernel
def draw_sizes(
    seed: int,
    types: Numbers,
    roles: Numbers,
    fields: Ints,
    starts: Longs,
    sizes: Ints,
) -> None:
    """Bytes of each object: of its fields, its elements, or drawn with a long tail."""
    for row in range(len(types)):
        t = types[row]
        if t in (STRING, BYTES):
            tail = (1.0 - uniform(seed, 4, row)) ** -0.8
            sizes[row] = 12 + (int(min(12.0 * tail, 1e6)) & ~3)
        elif roles[t] == ARRAY:
            sizes[row] = 12 + 4 * (starts[row + 1] - starts[row])
        else:
            sizes[row] = 12 + 4 * fields[t] + 4 * (t % 5)


@kernel
def _identity(row: int) -> int:
    """An object's id in the dump: rises, by 3 or by 5 as in the format's examples."""
    return 0x10000 + 8 * (row >> 1) + 3 * (row & 1)


@kernel
def _put(buffer: Bytes, at: int, value: int) -> int:
    """Write a blank and a hexadecimal number; returns where it ends."""
    buffer[at] = 32
    at += 1
    shift = 0
    while value >> (shift + 4):
        shift += 4
    while shift >= 0:
        buffer[at] = _DIGITS[(value >> shift) & 15]
        at += 1
        shift -= 4
    return at


@kernel
def write_objects(
    buffer: Bytes,
    begin: int,
    end: int,
    shift: int,
    types: Numbers,
    sizes: Numbers,
    starts: Starts,
    targets: Ints,
) -> int:
    """Write rows ``begin`` to ``end`` as ``o`` records; returns the bytes used."""
    at = 0
    for row in range(begin, end):
        buffer[at] = 111  # o
        at = _put(buffer, at + 1, _identity(row + shift))
        at = _put(buffer, at, types[row] + 1)
        at = _put(buffer, at, sizes[row])
        for e in range(starts[row], starts[row + 1]):
            at = _put(buffer, at, _identity(targets[e] + shift))
        buffer[at] = 10
        at += 1
    return at


@kernel
def identities(rows: Longs, ids: Longs) -> None:
    """The ids of ``rows``, into ``ids``."""
    for i in range(len(rows)):
        ids[i] = _identity(rows[i])
