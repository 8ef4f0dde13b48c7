"""Two builds of one Node.js program, bundled and minified by different tools."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

TOOLS = ("esbuild@0.28.2", "terser@5.51.4")
SOURCES = {
    "cache.js": """\
import { Session } from './session.js';
const sessionsByUser = new Map();
export function remember(user) {
  const session = new Session(user);
  sessionsByUser.set(user, session);
  return value => { session.last = value; return sessionsByUser.get(value); };
}
""",
    "session.js": """\
export class Session {
  constructor(user) { this.user = user; this.bytes = new Array(20).fill(user); }
}
export class Registry extends EventTarget {
  static shared = null;
  constructor() { super(); this.sessions = []; }
  register(session) { this.sessions.push(session); return () => session; }
}
""",
    "main.js": """\
import { Session, Registry } from './session.js';
import { remember } from './cache.js';
import v8 from 'node:v8';
const registry = new Registry();
Registry.shared = registry;
for (let index = 0; index < 4000; index++) registry.register(new Session('u' + index));
globalThis.registryClass = Registry;
for (let index = 0; index < 3000; index++) remember('v' + index);
globalThis.remember = remember;
v8.writeHeapSnapshot(process.argv[2]);
""",
}


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"


def prints(suspects: list[dict[str, str]]) -> set[str]:
    return {suspect["fingerprint"] for suspect in suspects}


@pytest.mark.deep
def test_suspects_of_two_builds_are_the_same(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("no npm, so no esbuild and terser")
    (tmp_path / "package.json").write_text("{}")
    got = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", *TOOLS],
        cwd=tmp_path, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    if got.returncode:
        pytest.skip("npm cannot install esbuild and terser here")
    (tmp_path / "src").mkdir()
    for name, text in SOURCES.items():
        (tmp_path / "src" / name).write_text(text)
    tools = tmp_path / "node_modules" / ".bin"
    bundle = [str(tools / "esbuild"), "src/main.js", "--bundle", "--platform=node"]
    run(tmp_path, *bundle, "--minify", "--sourcemap", "--outfile=one/app.js")
    run(tmp_path, *bundle, "--sourcemap=inline", "--outfile=two/raw.js")
    shorten = [str(tools / "terser"), "two/raw.js", "--toplevel", "-c", "-m"]
    with_map = ["--source-map", "content=inline,url=app.js.map"]
    run(tmp_path, *shorten, *with_map, "-o", "two/app.js")
    (tmp_path / "two" / "raw.js").unlink()

    found = []
    for build in ("one", "two"):
        snapshot = str(tmp_path / f"{build}.heapsnapshot")
        run(tmp_path, "node", f"{build}/app.js", snapshot)
        with_maps = "--source-map", str(tmp_path / build), "--json"
        told = json.loads(ingest("info", snapshot, *with_maps)[1])
        plain = json.loads(ingest("info", snapshot, "--json")[1])
        found.append([told["suspects"][:2], plain["suspects"][:2]])

    (one, plain_one), (two, plain_two) = found
    for number, holder in ((4000, "Registry.sessions"), (3000, "sessionsByUser")):
        assert any(
            f"{number:,} Session" in suspect["sentence"]
            and holder in suspect["sentence"]
            for suspect in one
        )
    assert prints(one) == prints(two)
    assert prints(plain_one).isdisjoint(prints(plain_two))
    for build, other in (("one", "two"), ("two", "one")):
        dump, maps = tmp_path / f"{build}.heapsnapshot", tmp_path / other
        code, _, said = ingest("info", str(dump), "--source-map", str(maps))
        assert code == 3
        assert "belongs to another build" in said
        assert said.count("\n") == 1
