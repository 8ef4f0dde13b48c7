"""Examples at the end of each command's help."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "ingest example",
        "ingest info example.gclog",
        "ingest why LevelScreen --in example.gclog",
    ),
    "load": (
        "ingest load app.gcdump",
        "ingest load monday.dartheap friday.dartheap.gz",
        "ingest load trace.nettrace --all-dumps",
        "ingest load app.gcdump --name before-fix --replace",
    ),
    "info": (
        "ingest info app.gcdump",
        "ingest info all.zip::app.gcdump --json",
        "ingest info app.nettrace --own 'Acme.*' --top 20",
    ),
    "timeline": (
        "ingest timeline trace.nettrace",
        "ingest timeline clrprofiler.log -f csv",
    ),
    "list": ("ingest list", "ingest list --json"),
    "drop": ("ingest drop before-fix",),
    "export": (
        "ingest export app.gcdump tables/",
        "ingest export app.gcdump import/ --for neo4j-admin --force",
    ),
    "redact": (
        "ingest redact app.hprof app-redacted.hprof",
        "ingest redact app.hprof OUT.hprof --prove proof.html --secret 's3cr3t-word'",
        "ingest redact app.hprof OUT.hprof --keep java.lang.Thread.name",
        "ingest redact app.hprof OUT.hprof --level structure --hash-types 'com.acme.*'",
    ),
    "queries": (
        "ingest queries",
        "ingest queries leak handlers",
        "ingest queries event-handlers",
        "ingest queries --all",
    ),
    "query": (
        "ingest query leak-suspects",
        "ingest query objects-of-type -p type=LevelScreen -p limit=5 -f csv",
        "ingest query big-drops --in game.gclog",
        "ingest query leak-suspects --show > mine.cypher",
        "ingest query mine.cypher --dump before-fix",
    ),
    "why": (
        "ingest why LevelScreen",
        "ingest why 0x1c1773 -k 10",
        "ingest why LevelScreen --html why.html",
        "ingest why LevelScreen --in game.gclog",
    ),
    "check": (
        "ingest check warm.gcdump later.gcdump latest.gcdump",
        "ingest check app.gcdump --against main.gcdump --save leaks.sarif",
        "ingest check a.gcdump b.gcdump c.gcdump --update-baseline",
    ),
    "objsize": (
        "ingest objsize app.gcdump LevelScreen",
        "ingest objsize before-fix 0x1c1773 0x1c17a0 --json",
    ),
    "what-if": (
        "ingest what-if app.gcdump",
        "ingest what-if before-fix --cut 'Game.Cache.items -> List' --cut 0x1c1773",
        "ingest what-if app.gcdump --best 10 --free 80 --json",
    ),
    "report": (
        "ingest report",
        "ingest report --dump before-fix -f markdown -o report.md",
        "ingest report --html report.html --force",
        "ingest report --in app.gcdump",
    ),
    "compare": (
        "ingest compare monday.hprof friday.hprof",
        "ingest compare 1.gcdump 2.gcdump 3.gcdump --by type --by suspect",
        "ingest compare before-fix after-fix -f markdown -o comment.md",
        "ingest compare trace.nettrace --html growth.html",
    ),
    "browse": (
        "ingest browse --guide --open",
        "ingest browse --query leak-suspects",
        "ingest browse --print style > heap.grass",
    ),
    "mcp": (
        "ingest mcp --allow /var/dumps",
        "ingest mcp --instructions > SKILL.md",
    ),
    "example": ("ingest example", "ingest example - | ingest info -"),
    "watch": (
        "ingest watch /var/dumps --to fleet --keep 5",
        "ingest watch 'dumps/*.hprof' --to fleet --answers alerts --json",
    ),
    "fleet add": (
        "ingest fleet add /var/dumps --to fleet --label '{service}/{version}/*'",
        "ingest fleet add s3://dumps/shop/ --to fleet --manifest dumps.csv",
        "ingest fleet add @dumps.txt --to fleet --engine spark "
        "--master spark://HOST:7077",
    ),
    "fleet graph": (
        "ingest fleet graph fleet",
        "ingest query fleet-new-leaks -p version=2.3",
        "ingest fleet graph --drop",
    ),
    "fleet label": (
        "ingest fleet label fleet --label '{program}/{version}/{host}-{time}.hprof'",
        "ingest fleet label fleet --manifest labels.csv",
    ),
    "fleet load": (
        "ingest fleet load fleet host6-20261101T151000",
        "ingest fleet load fleet --where \"program = 'shop' AND version = '2.3'\"",
    ),
    "fleet report": (
        "ingest fleet report fleet",
        "ingest fleet report fleet --program shop --since 2.3 -f markdown",
        "ingest fleet report fleet --html fleet.html",
    ),
    "fleet query": (
        "ingest fleet query fleet leaks -f csv",
        "ingest fleet query fleet leaks --show > mine.sql",
        "ingest fleet query fleet mine.sql",
    ),
    "capture dart": (
        "ingest capture dart http://127.0.0.1:8181/TOKEN=/ -o app.dartheap",
    ),
    "capture dotnet": (
        "ingest capture dotnet 4711",
        "ingest capture dotnet MyServer -o before.nettrace",
    ),
    "capture jvm": (
        "ingest capture jvm 4711",
        "ingest capture jvm shop.Main -o monday.hprof.gz",
        "ingest capture jvm 4711 --all -o everything.hprof",
    ),
    "capture list": ("ingest capture list",),
    "capture node": (
        "ingest capture node 4711 -o shop.heapsnapshot --count 3 --every 60",
        "ingest capture node 4711 --start-inspector",
        "ingest capture node 127.0.0.1:9229 -o monday.heapsnapshot",
    ),
    "capture chrome": (
        "ingest capture chrome 127.0.0.1:9222",
        "ingest capture chrome 127.0.0.1:9222 --target checkout -o cart.heapsnapshot",
    ),
    "capture python": (
        "ingest capture python 4711",
        "ingest capture python server.py -o monday.hrpy.gz --no-values",
    ),
    "server start": ("ingest server start --heap-mib 4096",),
    "server stop": ("ingest server stop",),
    "server status": ("ingest server status --json",),
    "server logs": ("ingest server logs -n 100 --follow",),
}
"""Shell lines by command; the empty name is the program itself."""


def examples(command: str) -> str:
    """The examples of a command, as the end of its help."""
    # The mark ``\b`` keeps the lines as they are.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[command])
