"""``why``: what keeps an object, or the objects of a type, alive."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ingest.cli.bars import Bars
from ingest.cli.options import (
    AsJson,
    DatabaseName,
    DumpName,
    Password,
    Uri,
    Username,
    open_database,
)


def why(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS|TYPE", help="0x1c15d2, or a type's full or short name."
        ),
    ],
    paths: Annotated[
        int, typer.Option("--paths", "-k", min=1, max=100, help="How many root paths.")
    ] = 5,
    dump: DumpName = None,
    as_json: AsJson = False,
    uri: Uri = None,
    username: Username = None,
    password: Password = None,
    database: DatabaseName = None,
) -> None:
    """Say what keeps an object, or the objects of a type, alive.

    Root paths, the dominator chain, and who shares it; for a type, the root paths
    of its instances merged by type. Exit 9: no such dump. Exit 10: no such object
    or type.
    """
    from ingest.queries.library import find
    from ingest.reports.why import (
        OBJECT_QUERIES,
        TYPE_QUERIES,
        why_object,
        why_type,
    )
    from ingest.store.ask import ask
    from ingest.store.dumps import find_dump
    from ingest.store.lookup import find_subject

    with (
        Bars() as progress,
        open_database(uri, username, password, database, progress) as opened,
    ):
        number = find_dump(opened, dump).number
        progress("ask", 0, None)
        found = find_subject(opened, subject, number)
        limits = {"k-shortest-root-paths": paths, "root-paths-of-type": paths}
        names = OBJECT_QUERIES if found.kind == "object" else TYPE_QUERIES
        key = "address" if found.kind == "object" else "type"
        answers = {}
        for name in names:
            given = {key: found.name}
            if name in limits:
                given["limit"] = str(limits[name])
            answers[name] = ask(opened, find(name), given, number)
    if as_json:
        told = {name: answer.dicts() for name, answer in answers.items()}
        typer.echo(json.dumps({found.kind: found.name, "answers": told}, indent=2))
    elif found.kind == "object":
        typer.echo(why_object(found.name, answers), nl=False)
    else:
        typer.echo(why_type(found.name, answers), nl=False)
