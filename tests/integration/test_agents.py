"""An agent's questions about loaded dumps, by the protocol's client over stdio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.deep import PROFILE
from tests.fuzz.seeds import SEEDS
from tests.unit.agents.test_process import ask, ask_of, server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran


CHOSEN = tuple(SEEDS) if PROFILE == "deep" else ("v8",)
"""One that is read on another thread; the server plans each question anew."""


@pytest.mark.slow
@pytest.mark.usefixtures("empty_database")
def test_each_tool_answers_on_loaded_dumps(
    on_server: Callable[..., Ran], tmp_path: Path
) -> None:
    for package in CHOSEN:
        (tmp_path / package).write_bytes(SEEDS[package]()[0])
        code, _, said = on_server("load", str(tmp_path / package), "--name", package)
        assert code == 0, said
    (tmp_path / "none").mkdir()

    async def run() -> None:
        async with server(tmp_path / "none", "--timeout", "120") as client:
            listed = await ask(client, "dumps")
            for package in CHOSEN:
                assert f'["{package}", "loaded"' in listed
                await ask_of(client, package)
                rows = await ask(
                    client,
                    "cypher",
                    text="MATCH (o:Object {dump: $dump}) RETURN count(o) AS objects",
                    dump=package,
                )
                assert '["objects"]' in rows

    anyio.run(run)


@pytest.mark.slow
@pytest.mark.usefixtures("empty_database")
def test_a_record_without_end_is_given_up(
    on_server: Callable[..., Ran], tmp_path: Path
) -> None:
    assert on_server("example", str(tmp_path / "a.gclog"))[0] == 0
    assert on_server("load", str(tmp_path / "a.gclog"))[0] == 0

    async def run() -> None:
        async with server(tmp_path, "--timeout", "5") as client:
            asked = {"text": "RETURN range(1, 2000000000) AS numbers"}
            said = await client.call_tool("cypher", asked)
            assert said.is_error
            assert "no answer within 5 s" in str(said.content[0])
            assert '"a"' in await ask(client, "dumps")

    anyio.run(run)
