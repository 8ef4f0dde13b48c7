"""The server: the Model Context Protocol over standard input and output, or loopback.

Only this module imports the protocol's own package. A process of its own (`worker`)
imports everything heavy, numpy, kernels and Neo4j, for the first question that needs
it. So a client is answered at once, and the question reports its progress.
"""

from __future__ import annotations

import hmac
import secrets
import sys
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from ingest import __version__
from ingest.agents.answer import clean
from ingest.agents.instructions import TEXT
from ingest.agents.worker import Said, Worker
from ingest.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from ingest.agents.tools import Tools

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Scope]]
    Send = Callable[[Scope], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

LIMIT_S = 600.0
"""Default limit of time for one question, in seconds."""

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
    """Has the worker answer one question at a time, and reports its progress."""

    def __init__(self, worker: Worker, limit_s: float) -> None:
        self._worker = worker
        self._limit_s = limit_s
        self._lock: anyio.Lock | None = None

    async def __call__(self, context: Context, tool: str, **given: object) -> str:
        if self._lock is None:
            self._lock = anyio.Lock()
        async with self._lock:
            is_free = False
            try:
                self._worker.ask(tool, given)
                kind, text = await self._answer(context)
                is_free = True
            except IngestError as error:
                kind, text = Said.REFUSAL, str(error)
            finally:
                if not is_free:
                    self._worker.give_up()
        if kind is not Said.ANSWER:
            raise ToolError(str(clean(text, 1000)))
        return text

    async def _answer(self, context: Context) -> tuple[Said, str]:
        """The last message of the worker about a question.

        Raises:
            IngestError: the worker is too slow, or has ended.
        """
        steps = 0
        late = (
            f"there was no answer within {self._limit_s:g} s; ask for less, or have "
            "the user start the server with a longer --timeout"
        )
        with anyio.move_on_after(self._limit_s) as scope:
            while True:
                kind, what = await anyio.to_thread.run_sync(
                    self._worker.hear, abandon_on_cancel=True
                )
                if kind is Said.PROGRESS:
                    steps += 1
                    await context.report_progress(steps, message=what)
                elif kind is Said.WITHIN:
                    until = anyio.current_time() + what
                    if until < scope.deadline:
                        scope.deadline = until
                        late = (
                            f"the database did not end its answer within {what:g} s; "
                            "ask for less, such as with LIMIT or an aggregate"
                        )
                else:
                    return kind, str(what)
        raise IngestError(late)


def server_of(worker: Worker, limit_s: float = LIMIT_S) -> MCPServer[Any]:
    """The server with its tools.

    Args:
        worker: The process that answers them.
        limit_s: Seconds after which a question is given up.
    """
    server: MCPServer[Any] = MCPServer(
        "heaproots", instructions=TEXT, version=__version__, log_level="ERROR"
    )
    call = _Caller(worker, limit_s)

    @server.tool(annotations=_READS, structured_output=False)
    async def dumps(context: Context, offset: Offset = 0) -> str:
        """List the heap dumps that can be asked: files, and loaded dumps."""
        return await call(context, "dumps", offset=offset)

    @server.tool(annotations=_READS, structured_output=False)
    async def summary(dump: Dump, context: Context) -> str:
        """Figures of a dump, and its types by retained size, in bytes."""
        return await call(context, "summary", dump=dump)

    @server.tool(annotations=_READS, structured_output=False)
    async def suspects(dump: Dump, context: Context) -> str:
        """Leak suspects: what piles up, who holds it through which field, where to cut.

        Start here with one dump; with two or more, start with compare.
        """
        return await call(context, "suspects", dump=dump)

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
        return await call(context, "why", dump=dump, subject=subject, paths=paths)

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
        return await call(context, "compare", dumps=dumps, by=by or (), top=top)

    @server.tool(annotations=_READS, structured_output=False)
    async def find_query(
        words: Annotated[
            str, Field(description="A few words, such as: duplicate text.")
        ],
        context: Context,
        offset: Offset = 0,
    ) -> str:
        """Find tested queries by words; run_query runs one."""
        return await call(context, "find_query", words=words, offset=offset)

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
            "run_query",
            query=query,
            dump=dump,
            parameters=parameters,
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
        return await call(
            context, "cypher", text=text, dump=dump, parameters=parameters, limit=limit
        )

    @server.tool(annotations=_READS, structured_output=False)
    async def schema(context: Context) -> str:
        """The graph in a page: nodes, relationships and their properties."""
        return await call(context, "schema")

    return server


def serve(
    tools: Tools,
    port: int | None = None,
    token: str = "",
    limit_s: float = LIMIT_S,
) -> None:
    """Serve until the client goes.

    Args:
        tools: The tools to offer.
        port: Port for HTTP on loopback; ``None`` for standard input and output.
        token: Token that an HTTP client must send as ``Authorization: Bearer TOKEN``;
            made if it is empty.
        limit_s: See `server_of`.
    """
    worker = Worker(tools)
    server = server_of(worker, limit_s)
    try:
        if port is None:
            server.run("stdio")
        else:
            _serve_http(
                server, port, token or secrets.token_urlsafe(24), made=not token
            )
    finally:
        worker.give_up()


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
        app: The application that answers them.
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
