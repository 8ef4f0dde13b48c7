"""``browse``: Neo4j Browser on the loaded dumps, with a guide and a style for them."""

from __future__ import annotations

import html
import json
import os
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.cli.bars import Bars, notice
from ingest.cli.options import (
    AsJson,
    Connection,
    DumpName,
    complete_query,
)
from ingest.system import interrupts
from ingest.system.files import write_private
from ingest.system.places import places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.database.dump_list import ChosenDump
    from ingest.database.store import Store
    from ingest.server.target import Target


class Printed(StrEnum):
    """What ``--print`` writes."""

    STYLE = "style"
    GUIDE = "guide"


def browse(
    *,
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            help="A query of the library to put into the editor.",
            autocompletion=complete_query,
        ),
    ] = None,
    guided: Annotated[
        bool,
        typer.Option(
            "--guide", help="Open a guide to the dump; serves it until Ctrl-C."
        ),
    ] = False,
    printed: Annotated[
        Printed | None,
        typer.Option(
            "--print", help="Print the style or the guide, to save it as a file."
        ),
    ] = None,
    browser: Annotated[
        str | None,
        typer.Option(
            "--browser",
            metavar="URL",
            help="Address of the Browser of your own server. Default: the usual one, "
            "http://HOST:7474, or https://HOST:7473 with TLS.",
        ),
    ] = None,
    dump: DumpName = None,
    launch: Annotated[
        bool, typer.Option("--open", help="Open it in the web browser.")
    ] = False,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Print the address of Neo4j Browser and how to log in.

    With --guide, Browser opens a tour of the dump with its numbers and queries that
    are ready to run, and a style for heaps can be applied.
    """
    from ingest.queries.library import find
    from ingest.server.target import browser_link

    given = _checked(browser)
    if sum((query is not None, guided, printed is not None)) > 1:
        raise typer.BadParameter("use only one of --query, --guide and --print")
    if printed is Printed.STYLE:
        from ingest.browser.style import grass

        typer.echo(grass(), nl=False)
        return
    chosen = find(query) if query else None
    needs_dump = guided or printed or (chosen and not chosen.is_of_fleet)
    with (
        Bars() as progress,
        connection.open(progress, for_dumps=bool(needs_dump)) as store,
    ):
        if printed is Printed.GUIDE:
            text = _guide(store, store.select(dump))
            progress.close()
            typer.echo(text, nl=False)
            return
        target = _with_browser(store.database.target, given)
        if guided:
            found = store.select(dump)
            progress.close()
            _serve_guide(store, found, target, launch=launch, as_json=as_json)
            return
        link = browser_link(target)
        if chosen is not None:
            number = 0 if chosen.is_of_fleet else store.find(dump).number
            cypher = chosen.with_literals(chosen.defaults(number))
            link = browser_link(target, "edit", cypher)
    _tell(target, {"browser": link}, as_json=as_json)
    if launch:
        typer.launch(link)


def _checked(browser: str | None) -> str | None:
    """The address of a Browser without its standard path.

    Raises:
        BadParameter: it is not the address of a page.
    """
    if browser is None:
        return None
    if not re.fullmatch(r"https?://[^\s/?#]+(?:/[^\s?#]*)?", browser):
        raise typer.BadParameter(
            f"{browser} is no address such as http://HOST:7474", param_hint="--browser"
        )
    return browser.rstrip("/").removesuffix("/browser")


def _with_browser(target: Target, given: str | None) -> Target:
    """A server with the address of its Browser: known, given, or a guess.

    Raises:
        BadParameter: it is given for the embedded server.
    """
    from ingest.server.target import usual_browser_url

    if target.browser_url is None and given is None:
        usual = usual_browser_url(target.uri)
        notice(
            f"{usual} is where the Browser of {target.uri} usually is; if it is "
            "elsewhere, name it with --browser"
        )
        return replace(target, browser_url=usual)
    if target.pid is not None and given is not None:
        raise typer.BadParameter(
            "the address of the embedded server is known", param_hint="--browser"
        )
    return replace(target, browser_url=given or target.browser_url)


def _tell(target: Target, facts: dict[str, str], *, as_json: bool) -> None:
    """Print addresses and credentials; the user's own password is not repeated."""
    login = {
        "uri": target.uri,
        "username": target.username,
        "password": target.password,
    }
    is_own = target.pid is None
    if is_own:
        del login["password"]
    if as_json:
        typer.echo(json.dumps(facts | login, indent=2))
        return
    typer.echo(f"Browser   {facts['browser']}")
    typer.echo(f"Connect   {target.uri}")
    typer.echo(f"User      {target.username}")
    if target.password is None:
        typer.echo("Password  none")
    else:
        typer.echo(f"Password  {'the one you gave' if is_own else target.password}")
    if "style" in facts:
        typer.echo(f"Style     :style {facts['style']}")


def _guide(store: Store, chosen: ChosenDump, style_url: str | None = None) -> str:
    """Make the guide to a dump.

    Raises:
        UnknownDump: The dump was dropped in the meantime.
    """
    from ingest.api.asked import AskedStore
    from ingest.browser.guide import guide

    return guide(AskedStore(store, chosen).ask_all, chosen.dump.number, style_url)


def _serve_guide(
    store: Store, chosen: ChosenDump, target: Target, *, launch: bool, as_json: bool
) -> None:
    """Serve the guide and the style to Browser until Ctrl-C, and say where.

    The address of the guide contains a secret word, since other users of the machine
    can reach its port, too.
    """
    import secrets  # imports hashlib, which takes 20 ms

    from ingest.browser.serving import ServedPage, origins_of, serving
    from ingest.browser.style import NAME, grass
    from ingest.server.target import browser_link

    with serving(origins_of(target.browser_url or "")) as server:
        style, guide = f"/{NAME}", f"/{secrets.token_urlsafe(12)}/guide"
        server.pages[style] = ServedPage("text/plain", grass())
        style_url, guide_url = f"{server.url}{style}", f"{server.url}{guide}"
        server.pages[guide] = ServedPage("text/html", _guide(store, chosen, style_url))
        facts = {
            "browser": browser_link(target, "guide", guide_url),
            "guide": guide_url,
            "style": style_url,
        }
        _tell(target, facts, as_json=as_json)
        with _private_link(facts["browser"]) as link:
            if launch:
                typer.launch(link)
            typer.echo("serving the guide and the style until Ctrl-C", err=True)
            _wait_for_ctrl_c()


@contextmanager
def _private_link(address: str) -> Iterator[str]:
    """A link to a private page that leads to ``address``.

    Other users see the arguments of the program that opens a link.
    """
    folder = places().state
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"guide-{os.urandom(4).hex()}.html"
    to = html.escape(f"0;url={address}")
    write_private(page, f'<!doctype html><meta http-equiv="refresh" content="{to}">\n')
    try:
        with interrupts.at_the_end(page.unlink):
            yield page.absolute().as_uri()
    finally:
        page.unlink(missing_ok=True)


def _wait_for_ctrl_c() -> None:
    """Wait for Ctrl-C, which is the regular end here and no error."""
    pressed = threading.Event()

    with interrupts.handled_by(pressed.set):
        pressed.wait()
