"""The dumps that two checkouts are asked about."""

from __future__ import annotations

from pathlib import Path

from tests.bench import gate_formats, heaps
from tests.bench.answers.formats import WRITERS
from tests.conftest import CHECKOUT
from tests.dumps import clrprofiler, dartheap, gcdump, gclog, hprof, nettrace, programs
from tests.dumps.trace import live
from tests.fuzz.seeds import SEEDS

SAMPLES = CHECKOUT.parent / "shared/samples"
LEAKS = (programs.event_handler, programs.cache_without_bound, programs.linked_list)
LARGE = {
    "gclog": gclog.large_gclog,
    "clrprofiler": clrprofiler.large_log,
    "traverseheap": clrprofiler.large_xml,
    "nettrace": nettrace.large_trace,
    "gcdump": gcdump.large_dump,
    "dartheap": dartheap.large_snapshot,
    "hprof": hprof.large_dump,
}


def samples(folder: Path) -> list[str]:
    """Links to the samples, each with a name of its own."""
    if not SAMPLES.is_dir():
        print(f"**** NOT COMPARED: there are no samples at {SAMPLES} ****")
        return []
    made = []
    for file in sorted(SAMPLES.rglob("*.*")):
        if file.suffix not in (".md", ".txt"):
            link = folder / f"{file.parent.name}-{file.name}"
            link.symlink_to(file)
            made.append(str(link))
    return made


def generated(folder: Path) -> tuple[list[str], list[list[str]]]:
    """Dumps of every format; and three of a program that leaks, by format."""

    def write(name: str, data: bytes) -> str:
        (folder / name).write_bytes(data)
        return str(folder / name)

    made = []
    for package, seeds in SEEDS.items():
        made += [write(f"seed-{package}{n}", data) for n, data in enumerate(seeds())]
    made += [write(f"large-{name}", make(2000, 6000)) for name, make in LARGE.items()]
    traced = clrprofiler.traced(live(1, [0, 1, 3, 0, 2, 0, 3, 1]))
    made.append(write("traced-clrprofiler", traced.bytes()))
    heaps.write_heap(folder / "heap-gclog", 20_000, 60_000)
    made.append(str(folder / "heap-gclog"))
    leaking = []
    for form in (*WRITERS, "hprof"):
        writer = gate_formats.writer(form)
        steps = programs.programs_of(LEAKS, 400, 1)
        leaking.append(
            [write(f"leak{n}-{form}", writer(step)) for n, step in enumerate(steps)]
        )
    return made, leaking
