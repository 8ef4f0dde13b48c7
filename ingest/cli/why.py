"""``why``: what keeps an object, or the objects of a type, alive."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    Connection,
    DumpName,
    Force,
    HtmlFile,
    about_of,
    notify,
    source_of,
    write_file,
)
from ingest.files import check_writable


def why(
    *,
    subject: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS|TYPE",
            help="An address, such as 0x1c15d2, or a type's full or short name.",
        ),
    ],
    paths: Annotated[
        int, typer.Option("--paths", "-k", min=1, max=100, help="Number of root paths.")
    ] = 5,
    dump: DumpName = None,
    html: HtmlFile = None,
    force: Force = False,
    as_json: AsJson = False,
    connection: Connection,
) -> None:
    """Show what keeps an object, or the objects of a type, alive.

    Root paths, the dominator chain, and other referrers; for a type, the root paths
    of its instances merged by type. --html writes a page with the paths drawn.
    Exit 9: no such dump. Exit 10: no such object or type.
    """
    from ingest.database.questions import ask_all, find_subject
    from ingest.reports import why_page
    from ingest.reports.why import (
        OBJECT_QUERIES,
        TYPE_QUERIES,
        why_object,
        why_type,
    )

    if html is not None:
        if as_json:
            raise typer.BadParameter("cannot be used with --json", param_hint="--html")
        check_writable(html, force=force)
    with (
        Bars() as progress,
        connection.open(progress) as store,
    ):
        selection = store.select(dump)
        about, number = about_of(selection), selection.dump.number
        progress("ask", 0, None)
        found = find_subject(store.database, subject, selection.dump)
        is_object = found.kind == "object"
        limits = dict.fromkeys(
            ("k-shortest-root-paths", "root-paths-of-type", "instances-by-root-path"),
            str(paths),
        )
        if html is not None:
            panels = why_page.OBJECT_PANELS if is_object else why_page.TYPE_PANELS
            limits |= why_page.limits(panels)
        key = "address" if is_object else "type"
        given = {
            name: {key: found.name}
            | ({"limit": limits[name]} if name in limits else {})
            for name in (OBJECT_QUERIES if is_object else TYPE_QUERIES)
        }
        answers = ask_all(store.database, given, number, progress)
        target = store.database.target
    notify(found.notice)
    if html is not None:
        sources = {
            name: source_of(target, name, values, number)
            for name, values in given.items()
        }
        page = why_page.object_page if is_object else why_page.type_page
        write_file(html, page(found.name, answers, sources, about))
    elif as_json:
        rows = {name: answer.dicts() for name, answer in answers.items()}
        facts = {"about": about.facts(), found.kind: found.name, "answers": rows}
        typer.echo(json.dumps(facts, indent=2))
    else:
        text = why_object if is_object else why_type
        typer.echo(f"{about.sentence()}\n\n{text(found.name, answers)}", nl=False)
