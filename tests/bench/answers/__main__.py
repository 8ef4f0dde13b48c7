"""``make bench-answers``: does the first suspect name what leaks, and who holds it?

Every case is a dump whose truth is known: programs with invented names that leak in
many ways, healthy programs, and real dumps where they are at hand. A case passes if the
first suspect of ``ingest info --json`` names the leaking type, its holder and, where
the format has names of fields, the field or the static; a healthy heap, if nothing
speaks for a leak but its size. Another ``--seed`` makes other heaps of the same kinds.

A second table is of ordinary programs with the names of their libraries: whether
healthy caches and catalogues are accused, and small leaks beside them named, by one
dump and by three; `ordinary` has the rules. Between both, programs after public
reports are started, captured and read: see `reported`. Each cut that is printed of both
is given back to ``what-if``. ``--section`` prints one table.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.answers import ordinary, reported
from tests.bench.answers.coreclr import programs
from tests.bench.answers.cpython import leaking
from tests.bench.answers.dart_vm import style_sheet
from tests.bench.answers.healthy import HEALTHY
from tests.bench.answers.leaks import LEAKS
from tests.bench.answers.samples import samples
from tests.bench.answers.verdict import Asked, ask, cuts_line

if TYPE_CHECKING:
    from tests.bench.answers.cases import Case


def made(case: Case, seed: int, keep: Path | None) -> Asked:
    """Write a case's dump and ask about it."""
    program, truths = case.program(seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        name = f"{case.name}-{case.share}".replace(" ", "-")
        path = folder / f"{name}.{case.format}"
        path.write_bytes(program.dump())
        return ask(case.name, case.format, path, truths)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="make bench-answers", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--keep", type=Path, help="folder to write the dumps to")
    parser.add_argument(
        "--section", choices=("all", "known", "reported", "ordinary"), default="all"
    )
    chosen = parser.parse_args()
    if chosen.keep:
        chosen.keep.mkdir(parents=True, exist_ok=True)
    if chosen.section in ("all", "known"):
        _known(chosen.seed, chosen.only, chosen.keep)
    if chosen.section in ("all", "reported"):
        with tempfile.TemporaryDirectory() as temporary:
            for row in reported.rows(chosen.only, chosen.keep or Path(temporary)):
                print(row, flush=True)
    if chosen.section in ("all", "ordinary"):
        begin = time.perf_counter()
        with Pool() as pool:
            ordinary.run(pool, chosen.seed, chosen.only, chosen.keep)
        print(f"{time.perf_counter() - begin:.0f} s, seed {chosen.seed}")


def _known(seed: int, only: str, keep: Path | None) -> None:
    """The table of heaps with invented names, and of real dumps."""
    begin, asked = time.perf_counter(), []
    cases = [case for case in (*LEAKS, *HEALTHY) if only in case.name]
    print(Asked.heading(), flush=True)
    with Pool() as pool:
        work = partial(made, seed=seed, keep=keep)
        for one in pool.imap(work, cases):
            asked.append(one)
            print(one.row(), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        for name, path, truths in chain(
            samples(folder), programs(folder), style_sheet(folder), leaking(folder)
        ):
            if only in name:
                asked.append(ask(name, "", path, truths))
                print(asked[-1].row(), flush=True)
    told = [one for one in asked if one.sentence is not None]
    short = sum(one.sentence_is_good for one in told)
    print(f"\n{short} of {len(told)} sentences are short and name type and holder")
    for one in told:
        if not one.sentence_is_good:
            print(f"  not {one.name}: {one.sentence}")
    for word, some in (
        ("leaks", [one for one in asked if one.truths]),
        ("healthy", [one for one in asked if not one.truths]),
    ):
        print(f"{word}: {sum(one.passes for one in some)} of {len(some)}")
    print(cuts_line([cut for one in asked for cut in one.cuts]))
    for one in asked:
        for cut in filter(None, one.cuts):
            print(f"  {one.name}: {cut}")
    print(f"{time.perf_counter() - begin:.0f} s, seed {seed}")
    print(f"{sum(one.passes for one in asked)} of {len(asked)}")


if __name__ == "__main__":
    main()
