"""``make bench``: times, rates and peak memory, each beside a limit or a peer.

Every figure is of a whole process, or of a stage within one, in this run; kernels are
compiled, the server's classes are archived and it is started before anything is
measured. Machines differ: what to quote are the ratios.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.bench import java_peers, shortened, tables
from tests.bench.heaps import SHAPES
from tests.bench.home import HOME, fresh_home
from tests.bench.limits import limits_for
from tests.bench.measure import INGEST, run, summary

SIZES = (100_000, 1_000_000, 10_000_000)
LARGEST = 100_000_000


def start_server() -> None:
    """Start it as it always starts but for the first time in a home.

    When a server ends for the first time, it archives its classes: then the next one
    starts in half the time.
    """
    for action in ("start", "stop", "start"):
        run(*INGEST, "server", action)


def queries(objects: int) -> None:
    """Every query, on a heap with what makes them slow."""
    dump, same = tables.query_heap(HOME, objects), tables.same_rows(HOME)
    start_server()
    try:
        run(*INGEST, "load", str(dump), "--name", tables.NAME, "--via", "bulk")
        tables.queries(limits_for(objects), same)
    finally:
        run(*INGEST, "server", "stop")
    summary()


def hard_queries() -> None:
    """Every query, on heaps on which a careless one does not end."""
    start_server()
    try:
        print(run(sys.executable, "-m", "tests.bench.hard_queries").output)
    finally:
        run(*INGEST, "server", "stop")


def of_all_sizes(*, largest: bool) -> None:
    """What has a limit beside a peer, at each size for which it has one."""
    for objects in SIZES[1:]:
        for shape in SHAPES:
            tables.beside_igraph(HOME, objects, limits_for(objects), shape)
    for objects in java_peers.TIMES_ANALYZER:
        java_peers.one_size(objects)
    shortened.one_table()
    tables.formats(HOME)
    if largest:
        tables.largest(HOME, LARGEST, limits_for(LARGEST))
    start_server()
    try:
        objects = SIZES[1]
        dump = tables.heap(HOME, objects)
        tables.loads(HOME, [objects], dump, limits_for(objects))
        run(*INGEST, "drop", tables.NAME)
    finally:
        run(*INGEST, "server", "stop")
    queries(SIZES[-1])


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--references", type=int, default=0)
    parser.add_argument("--copies", type=int, default=0, help="of a real sample")
    parser.add_argument("--sample", type=Path, help="that sample, a gclog")
    parser.add_argument("--queries", action="store_true", help="only queries")
    parser.add_argument("--limits", action="store_true", help="at each size, an hour")
    parser.add_argument("--largest", action="store_true", help="--limits, 100 million")
    parser.add_argument("--formats", action="store_true", help="only other formats")
    parser.add_argument("--hard", action="store_true", help="on hard heaps instead")
    parser.add_argument("--no-store", action="store_true", help="without Neo4j")
    parser.add_argument("--no-bolt", action="store_true", help="only bulk loads")
    parser.add_argument("--no-peers", action="store_true", help="only ours")
    chosen = parser.parse_args()
    HOME.mkdir(exist_ok=True)
    fresh_home()
    if chosen.hard:
        hard_queries()
        return
    if chosen.formats:
        tables.formats(HOME)
        summary()
        return
    if chosen.limits:
        of_all_sizes(largest=chosen.largest)
        return
    if chosen.queries:
        queries(chosen.objects)
        return
    if chosen.sample:
        dump = tables.copies(HOME, chosen.sample, chosen.copies or 1)
        objects = 0
    else:
        objects = chosen.objects
        dump = tables.heap(HOME, objects, chosen.references)
    print(f"{dump.name}, {dump.stat().st_size / 2**20:.0f} MiB", flush=True)
    limits = limits_for(objects)
    run(*INGEST, "info", str(dump), "--json")
    info = tables.commands(dump, limits)
    tables.stages(dump, HOME, limits, info, peers=not chosen.no_peers)
    if not chosen.no_peers and objects in java_peers.TIMES_ANALYZER:
        java_peers.one_size(objects)
    tables.formats(HOME)
    tables.tracking()
    sizes = [size for size in SIZES if size < objects] + [objects]
    if len(sizes) > 1:
        tables.growth_of_info(HOME, sizes)
    tables.costs()
    if not chosen.no_store:
        start_server()
        try:
            if not chosen.no_bolt:
                tables.bolt(dump, limits)
            tables.loads(HOME, sizes, dump, limits)
            if not chosen.no_peers and objects <= SIZES[1]:  # they take too long
                tables.other_loads(dump, HOME)
            tables.queries(limits, {})
        finally:
            run(*INGEST, "server", "stop")
    summary()


if __name__ == "__main__":
    main()
