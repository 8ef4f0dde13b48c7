"""The server: the Model Context Protocol over standard input and output, or loopback.

The protocol's own package is imported here and nowhere else. Everything heavy, numpy,
kernels and Neo4j, is imported by the first question that needs it, in a thread, so that
a client is answered at once; the question reports its progress.
"""

from __future__ import annotations

import hmac
import secrets
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from ingest import __version__
from ingest.agents.answer import clean
from ingest.agents.instructions import TEXT
from ingest.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from ingest.agents.tools import Tools

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Scope]]
    Send = Callable[[Scope], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

_EVERY_S = 0.5
"""Between two notices of progress."""

_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, open_world_hint=False
)

Dump = Annotated[
    str,
    Field(
        description="A file, or the name of a loaded dump, as the tool dumps lists it."
    ),
]
LoadedDump = Annotated[
    str, Field(description="A loaded dump; the newest if it is left out.")
]
Values = Annotated[
    dict[str, str | int | float | bool] | None,
    Field(description="Parameters by name."),
]
Offset = Annotated[int, Field(description="Rows to leave out at the start.", ge=0)]


class _Caller:
    """Calls a question in a thread, one at a time, and reports its progress."""

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None

    async def __call__(
        self,
        context: Context,
        question: Callable[..., str],
        *given: object,
        **more: object,
    ) -> str:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(1)
        last_s, steps = 0.0, 0

        def progress(stage: str, done: int, total: int | None) -> None:
            nonlocal last_s, steps
            now_s = time.monotonic()
            if now_s - last_s < _EVERY_S:
                return
            last_s, steps = now_s, steps + 1
            share = f" {done / total:.0%}" if total else ""
            anyio.from_thread.run(
                partial(context.report_progress, steps, message=f"{stage}{share}")
            )

        run = partial(question, *given, progress=progress, **more)
        try:
            return await anyio.to_thread.run_sync(run, limiter=self._limiter)
        except IngestError as error:
            raise ToolError(str(clean(str(error), 1000))) from None


def server_of(tools: Tools) -> MCPServer[Any]:
    """The server with its tools.

    Args:
        tools: What they ask.
    """
    server: MCPServer[Any] = MCPServer(
        "heaproots", instructions=TEXT, version=__version__, log_level="ERROR"
    )
    call = _Caller()

    @server.tool(annotations=_READS, structured_output=False)
    async def dumps(context: Context, offset: Offset = 0) -> str:
        """List the heap dumps that can be asked: files, and loaded dumps."""
        return await call(context, tools.dumps, offset=offset)

    @server.tool(annotations=_READS, structured_output=False)
    async def summary(dump: Dump, context: Context) -> str:
        """Figures of a dump, and its types by retained size, in bytes."""
        return await call(context, tools.summary, dump)

    @server.tool(annotations=_READS, structured_output=False)
    async def suspects(dump: Dump, context: Context) -> str:
        """Leak suspects: what piles up, who holds it through which field, where to cut.

        Start here with one dump; with two or more, start with compare.
        """
        return await call(context, tools.suspects, dump)

    @server.tool(annotations=_READS, structured_output=False)
    async def why(
        dump: Dump,
        subject: Annotated[
            str, Field(description="An address such as 0x1c15d2, or a type's name.")
        ],
        context: Context,
        paths: Annotated[int, Field(description="The most paths.", ge=1, le=20)] = 3,
    ) -> str:
        """What keeps an object, or the objects of a type, alive: paths and owners."""
        return await call(context, tools.why, dump, subject, paths=paths)

    @server.tool(annotations=_READS, structured_output=False)
    async def compare(
        dumps: Annotated[
            list[str],
            Field(
                description="Two or more dumps of one program, oldest first.",
                min_length=1,
                max_length=50,
            ),
        ],
        context: Context,
        by: Annotated[
            list[str] | None,
            Field(description="suspect, root-path, type, namespace, dominator-path."),
        ] = None,
        top: Annotated[int, Field(description="Entries a section.", ge=1, le=50)] = 5,
    ) -> str:
        """What is new, gone or grown between dumps: what grows in each is the leak."""
        return await call(context, tools.compare, dumps, by=by or (), top=top)

    @server.tool(annotations=_READS, structured_output=False)
    async def find_query(
        words: Annotated[
            str, Field(description="A few words, such as: duplicate text.")
        ],
        context: Context,
        offset: Offset = 0,
    ) -> str:
        """Find tested queries by words; run_query runs one."""

        def search(words: str, *, offset: int, progress: object) -> str:
            del progress
            return tools.find_query(words, offset=offset)

        return await call(context, search, words, offset=offset)

    @server.tool(annotations=_READS, structured_output=False)
    async def run_query(
        query: Annotated[str, Field(description="Its name, from find_query.")],
        context: Context,
        dump: Dump = "",
        parameters: Values = None,
        limit: Annotated[int, Field(description="The most rows.", ge=1, le=1000)] = 20,
        offset: Offset = 0,
    ) -> str:
        """Run a query of the library. Columns say their units."""
        return await call(
            context,
            tools.run_query,
            query,
            dump,
            parameters,
            limit=limit,
            offset=offset,
        )

    @server.tool(annotations=_READS, structured_output=False)
    async def cypher(
        text: Annotated[str, Field(description="One statement that only reads.")],
        context: Context,
        dump: LoadedDump = "",
        parameters: Values = None,
        limit: Annotated[int, Field(description="The most rows.", ge=1, le=1000)] = 50,
    ) -> str:
        """Run read-only Cypher on loaded dumps, for 30 s; $dump is the dump's number.

        Read schema first. find_query may have a tested query for the same question.
        """
        return await call(context, tools.cypher, text, dump, parameters, limit=limit)

    @server.tool(annotations=_READS, structured_output=False)
    async def schema(context: Context) -> str:
        """The graph in a page: nodes, relationships and their properties."""

        def page(*, progress: object) -> str:
            del progress
            return tools.schema()

        return await call(context, page)

    return server


def serve(tools: Tools, port: int | None = None, token: str = "") -> None:
    """Serve until the client goes.

    Args:
        tools: What is asked.
        port: Of HTTP on the loopback interface; ``None`` for standard input and output.
        token: What a client of HTTP must send as ``Authorization: Bearer TOKEN``; one
            is made if it is empty.
    """
    server = server_of(tools)
    try:
        if port is None:
            server.run("stdio")
        else:
            _serve_http(
                server, port, token or secrets.token_urlsafe(24), made=not token
            )
    finally:
        tools.close()


def _serve_http(server: MCPServer[Any], port: int, token: str, *, made: bool) -> None:
    import uvicorn

    sys.stderr.write(f"listening on http://127.0.0.1:{port}/mcp\n")
    if made:
        sys.stderr.write(f"Authorization: Bearer {token}\n")
    sys.stderr.flush()
    app = guarded(server.streamable_http_app(host="127.0.0.1"), token)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def guarded(app: App, token: str) -> App:
    """An application that answers only requests with the token.

    Args:
        app: What answers them.
        token: See `serve`.
    """
    expected = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, expected):
                head = [(b"content-type", b"text/plain")]
                await send(
                    {"type": "http.response.start", "status": 401, "headers": head}
                )
                await send({"type": "http.response.body", "body": b"no valid token\n"})
                return
        await app(scope, receive, send)

    return checked
