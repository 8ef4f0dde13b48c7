"""Asks two checkouts; see `tests.same`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import tests.same
from tests.conftest import CHECKOUT
from tests.same.checkouts import Checkout, Comparison
from tests.same.dumps import generated, samples


def ask_without_server(
    asked: Comparison, dumps: list[str], leaking: list[list[str]]
) -> None:
    """Everything that needs no database."""
    for dump in [*dumps, *(steps[-1] for steps in leaking)]:
        print(f"  {Path(dump).name}", flush=True)
        told = asked.ask("info", dump, "--json")
        asked.ask("info", dump, "--json", "--fold", "none")
        asked.ask("info", dump, "--json", "--strength", "mat")
        asked.ask("timeline", dump, "--json")
        if not isinstance(told, dict):
            continue
        for part in told["parts"][:4]:
            asked.ask("info", dump, "--json", "--part", str(part["number"]))
        if len(told["parts"]) > 1:
            asked.ask("compare", dump, "--format", "json")
        asked.ask("check", dump, "--format", "json")
        asked.ask("what-if", dump, "--json")
        types, addresses = subjects(told)
        for subject in (*types, *addresses):
            asked.ask("objsize", dump, subject, "--json")
        for form in ("parquet", "csv-raw", "neo4j-admin"):
            asked.export(dump, form)
    for steps in leaking:
        asked.process("info", steps[-1], "--json")
        asked.ask("compare", steps[0], steps[-1], "--format", "json")
        asked.ask("compare", *steps, "--format", "json")
        asked.ask("check", *steps, "--format", "json")
    pairs = [(a, b) for a in dumps for b in dumps if "test1.gcd" in a and "test2" in b]
    for old, new in pairs:
        asked.ask("compare", old, new, "--format", "json")


def subjects(told: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Types and addresses to ask about, from what ``info`` says."""
    types = [row["type"] for row in told["top_types"][:2]]
    types += [row["type"] for row in told["suspects"][:1]]
    addresses = [row["address"] for row in told["top_retained"]]
    return [*dict.fromkeys(types)], [*addresses[:2], *addresses[-1:]]


def ask_of_bad_input(asked: Comparison, folder: Path, leaking: list[list[str]]) -> None:
    """Exit codes and errors of commands that must fail."""
    bad = {"empty": b"", "junk": random.Random(1).randbytes(4096), "words": b"No.\n"}
    for name, data in bad.items():
        (folder / name).write_bytes(data)
    for name in (*bad, "missing", "."):
        asked.process("info", str(folder / name))
    for steps in leaking:
        data, cut = Path(steps[0]).read_bytes(), folder / f"cut-{Path(steps[0]).name}"
        cut.write_bytes(data[: len(data) * 2 // 3])
        asked.process("info", str(cut), "--json")
        asked.process("info", str(cut), "--strict")
        asked.process("info", steps[0], "--part", "99")
    for options in (["--fold", "no"], ["--top", "-1"], ["--layout", "1/2"], ["--no"]):
        asked.process("info", leaking[0][0], *options)
    asked.process("objsize", leaking[0][0], "No.Such.Type")
    asked.process("what-if", leaking[0][0], "--cut", "No.Such.Type")
    asked.process("export", leaking[0][0], str(folder))
    asked.process("info")


def ask_server(asked: Comparison, dumps: list[str]) -> None:
    """Load all dumps, and ask every query about each."""
    for dump in dumps:
        several = asked.ask("info", dump, "--json")
        if isinstance(several, dict):
            options = ["--all-dumps"] if len(several["parts"]) > 1 else []
            asked.ask("load", dump, *options, "--json")
    library = asked.ask("queries", "--json", "--all")
    for row in asked.ask("list", "--json"):
        print(f"  {row['name']}", flush=True)
        named = ("--dump", row["name"], "--json")
        held = asked.ask("query", "retained-objects", *named)["rows"]
        types = asked.ask("query", "type-histogram", *named)["rows"]
        given: dict[str, list[str]] = {
            "address": [str(one["address"]) for one in held[:1] + held[-1:]],
            "type": [str(one["type"]) for one in types[:1] + types[-1:]],
            "from": [str(one["address"]) for one in held[:1]],
            "to": [str(one["address"]) for one in held[-1:]],
            "field": ["value"],
            "version": ["1.0"],
        }
        for query in library:
            wanted = [
                parameter["name"]
                for parameter in query["parameters"]
                if parameter["required"] and parameter["name"] != "dump"
            ]
            values = [given[name] for name in wanted]
            for chosen in zip(*values, strict=True) if wanted else [()]:
                options = [f"-p{k}={v}" for k, v in zip(wanted, chosen, strict=True)]
                asked.ask("query", query["name"], *options, *named)


def main() -> None:
    """Compare, and say what differs."""
    parser = argparse.ArgumentParser(prog="tests.same", description=tests.same.__doc__)
    parser.add_argument("other", type=Path, help="the checkout before the work")
    parser.add_argument("--ignore", action="append", default=[], metavar="COLUMN")
    parser.add_argument("--server", action="store_true", help="every query, too")
    parser.add_argument("--only", default="", metavar="WORD", help="dumps so named")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="same-") as temporary, ExitStack() as ends:
        folder = Path(temporary)
        (folder / "dumps").mkdir()
        dumps = samples(folder / "dumps")
        made, leaking = generated(folder / "dumps")
        leaking = [steps for steps in leaking if chosen.only in Path(steps[-1]).name]
        dumps = [dump for dump in [*dumps, *made] if chosen.only in Path(dump).name]
        checkouts = [
            Checkout(root, folder / name)
            for root, name in ((chosen.other.resolve(), "old"), (CHECKOUT, "new"))
        ]
        for checkout in checkouts:
            ends.callback(checkout.end)
        asked = Comparison(checkouts, frozenset(chosen.ignore))
        if chosen.server:
            ask_server(asked, [*dumps, *(dump for steps in leaking for dump in steps)])
        else:
            ask_without_server(asked, dumps, leaking)
            if leaking:
                ask_of_bad_input(asked, folder / "dumps", leaking)
    for what, times in sorted(asked.left_out.items()):
        print(f"not compared: {what}, in {times} answers")
    print(f"{asked.answers} answers compared, {asked.differing} differ")
    sys.exit(1 if asked.differing else 0)


if __name__ == "__main__":
    main()
