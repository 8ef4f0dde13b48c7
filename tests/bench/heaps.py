"""Synthetic heaps with the shape of real ones, as gclog text, from a seed.

Long-tailed types and out-degrees, references mostly to near neighbours, shared
hubs, huge arrays, deep chains, a tenth garbage, a few weak roots.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np


def write_heap(path: Path, objects: int, references: int, seed: int = 1) -> None:
    """Write a gclog of exactly ``objects`` and ``references`` to ``path``."""
    rng = np.random.default_rng(seed)
    types = max(16, min(4000, objects // 250))
    weight = 1.0 / np.arange(1, types + 1) ** 1.1
    kind = rng.choice(types, objects, p=weight / weight.sum())
    size = np.clip(rng.lognormal(3.4, 0.8, objects), 12, 1 << 20).astype(np.int64)
    address = 0x10000 + np.cumsum((size + 3) & ~3)
    spine = np.arange(1, objects) * (rng.random(objects - 1) < 0.9)
    parents = _parents(rng, objects)
    reached = spine > 0
    source = [parents[1:][reached]]
    target = [np.flatnonzero(reached) + 1]
    left = references - int(reached.sum())
    hubs = rng.integers(0, objects, max(1, objects // 5000))
    far = rng.random(left)
    owner = np.minimum((objects * rng.power(1.3, left)).astype(np.int64), objects - 1)
    near = np.clip(owner + rng.integers(-200, 200, left), 0, objects - 1)
    chosen = np.where(far < 0.15, hubs[rng.integers(0, len(hubs), left)], near)
    chosen = np.where(far > 0.95, rng.integers(0, objects, left), chosen)
    source.append(owner)
    target.append(chosen)
    sources, targets = np.concatenate(source), np.concatenate(target)
    order = np.argsort(sources, kind="stable")
    sources, targets = sources[order], targets[order]
    starts = np.searchsorted(sources, np.arange(objects + 1))
    hexes = [f" {a:x}" for a in address.tolist()]
    roots = np.unique(np.concatenate([[0], rng.integers(0, objects // 50 + 1, 400)]))
    with path.open("w", encoding="ascii", newline="\n") as out:
        out.write("a 2 synthetic.exe 763f9d2\n")
        for t in range(types):
            out.write(f"t {t + 1:x} Bench.Part{t % 23}.Kind{t}\n")
        kinds, sizes, bounds = kind.tolist(), size.tolist(), starts.tolist()
        for i in range(objects):
            out.write(f"o{hexes[i]} {kinds[i] + 1:x} {sizes[i]:x}")
            if bounds[i] < bounds[i + 1]:
                row = targets[bounds[i] : bounds[i + 1]].tolist()
                out.write("".join([hexes[j] for j in row]))
            out.write("\n")
        for n, root in enumerate(roots.tolist()):
            what = ("1 0", "3 0", "3 2", "5 1", f"4 0 {n % types + 1:x}")[n % 5]
            out.write(f"r{hexes[root]} {what}\n")
        out.write("c synthetic.exe 763fbef\n")


def _parents(rng: np.random.Generator, objects: int) -> np.ndarray:
    """Each object's first holder: mostly near, sometimes the object before it."""
    index = np.arange(objects)
    back = np.minimum(rng.geometric(0.004, objects), np.maximum(index, 1))
    chain = (index // 4096) % 7 == 0
    return np.where(chain, np.maximum(index - 1, 0), index - back)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("objects", type=int)
    parser.add_argument("references", type=int)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    write_heap(chosen.path, chosen.objects, chosen.references, chosen.seed)
