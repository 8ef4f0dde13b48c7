"""The server as a process, over standard input and output, by the protocol's client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters

from ingest.agents.instructions import TEXT
from tests.fuzz.seeds import SEEDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

TOOLS = {
    "dumps", "summary", "suspects", "why", "compare", "find_query", "run_query",
    "cypher", "schema",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "dumps"
    made.mkdir()
    return made


@asynccontextmanager
async def server(folder: Path, *options: str) -> AsyncIterator[Client]:
    """A client of a process that may read a folder."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ingest", "mcp", "--allow", str(folder), *options],
        env={**os.environ},
    )
    async with Client(command) as client:
        yield client


async def ask(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    text = str(getattr(result.content[0], "text", ""))
    assert not result.is_error, (tool, arguments, text)
    return text


def first_type(summary: str) -> str:
    """The first type that an answer of ``summary`` lists."""
    lines = summary.splitlines()
    columns = next(n for n, line in enumerate(lines) if line.startswith('["type"'))
    return str(json.loads(lines[columns + 1])[0])


async def ask_of(client: Client, dump: str) -> set[str]:
    """Ask each tool about a dump, and return their names."""
    summary = await ask(client, "summary", dump=dump)
    assert "object_count: " in summary
    assert "query: leak-suspects" in await ask(client, "suspects", dump=dump)
    why = await ask(client, "why", dump=dump, subject=first_type(summary))
    assert "All instances, summed" in why
    assert "What changed" in await ask(client, "compare", dumps=[dump, dump])
    rows = await ask(client, "run_query", query="type-histogram", dump=dump)
    assert "instance_count" in rows
    return {"summary", "suspects", "why", "compare", "run_query"}


@pytest.mark.slow
def test_each_tool_answers_on_a_file_of_each_format(folder: Path) -> None:
    for package, made in SEEDS.items():
        (folder / package).write_bytes(made()[0])

    async def run() -> None:
        async with server(folder, "--no-start") as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            assert client.instructions == TEXT
            listed = await ask(client, "dumps")
            used = {"dumps"}
            for package in SEEDS:
                assert str(folder / package) in listed
                used |= await ask_of(client, str(folder / package))
            assert "leak-suspects: " in await ask(client, "find_query", words="leak")
            assert "(Object)" in await ask(client, "schema")
            no_server = await client.call_tool("cypher", {"text": "RETURN 1"})
            assert "Neo4j is not running" in str(no_server.content[0])
            assert used | {"find_query", "schema", "cypher"} == TOOLS

    anyio.run(run)


# ------------------------------------------------- what does not answer


def the_worker(of: psutil.Process) -> psutil.Process:
    """The process that answers the questions of a server."""
    return next(one for one in of.children() if "spawn_main" in str(one.cmdline()))


async def stopped(client: Client) -> psutil.Process:
    """The process of this test's server, so that it does not answer any more."""
    await ask(client, "find_query", words="leak")
    server = next(
        one
        for one in psutil.Process().children()
        if one.status() != psutil.STATUS_ZOMBIE and "mcp" in str(one.cmdline())
    )
    worker = the_worker(server)
    worker.suspend()
    return worker


async def refused(client: Client, tool: str, **arguments: object) -> str:
    said = await client.call_tool(tool, arguments)
    assert said.is_error
    return str(said.content[0])


async def takes_too_long(client: Client, _worker: psutil.Process) -> None:
    assert "no answer within 5 s" in await refused(client, "schema")


async def is_not_wanted(client: Client, _worker: psutil.Process) -> None:
    with anyio.move_on_after(0.5) as given_up:
        await client.call_tool("schema", {})
    assert given_up.cancelled_caught


async def has_ended(client: Client, worker: psutil.Process) -> None:
    async def kill() -> None:
        await anyio.sleep(0.5)
        worker.kill()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill)
        assert "has ended (signal 9)" in await refused(client, "schema")


@pytest.mark.slow
def test_a_question_that_is_not_answered_is_given_up(folder: Path) -> None:
    pipe = folder / "pipe.gclog"
    os.mkfifo(pipe)

    async def run() -> None:
        async with server(folder, "--no-start", "--timeout", "5") as client:
            said = await refused(client, "summary", dump=str(pipe))
            assert "is a pipe or a device" in said
            for reason in (takes_too_long, is_not_wanted, has_ended):
                worker = await stopped(client)
                await reason(client, worker)
                assert "(Object)" in await ask(client, "schema")  # of another one
                assert not worker.is_running()

    anyio.run(run)


def close(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("leave", [close, kill])
def test_no_process_outlives_its_client(
    folder: Path, leave: Callable[[subprocess.Popen[str]], None]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ingest", "mcp", "--no-start", "--allow", str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None

    def send(method: str, number: int | None = None, **more: Any) -> None:  # noqa: ANN401
        message = {"jsonrpc": "2.0", "method": method, "params": more}
        named = message if number is None else {**message, "id": number}
        assert process.stdin is not None
        process.stdin.write(json.dumps(named) + "\n")
        process.stdin.flush()

    try:
        info = {"name": "test", "version": "1"}
        send("initialize", 1, protocolVersion="2025-06-18", capabilities={},
             clientInfo=info)  # fmt: skip
        assert '"id":1' in process.stdout.readline()
        send("notifications/initialized")
        send("tools/call", 2, name="schema", arguments={})
        assert '"id":2' in process.stdout.readline()
        worker = the_worker(psutil.Process(process.pid))
        worker.suspend()
        send("tools/call", 3, name="schema", arguments={})
        time.sleep(0.5)
        leave(process)
        process.wait(timeout=10)
        if leave is kill:
            worker.send_signal(signal.SIGCONT)
        psutil.wait_procs([worker], timeout=10)
        assert not worker.is_running()
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
