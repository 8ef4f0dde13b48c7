"""Knowledge of Bun: JavaScriptCore in a heap snapshot in V8's format.

Classes of the language have the same names as in V8, the engine's own have others. Ids
are not the same in two dumps.
"""

from __future__ import annotations

from dataclasses import replace

from ingest.runtimes.v8 import V8

BUN = replace(
    V8,
    name="bun",
    program="a Bun program",
    module_prefix="system / JSModuleEnvironment",
    scope_prefix="system / JSLexicalEnvironment",
    global_objects=(("(GlobalObject)", "globalThis"),),
    lasting_ids=None,
    links=(),
    timers=(),  # the engine has those that are scheduled
    weak_type="",  # its dumps have no weak references
    writes="in the program, writeHeapSnapshot() of node:v8",
    # Key, value, place of the next one, and two places in the table of hash codes.
    unrecorded={"Map": 40, "Set": 32},
    unrecorded_bytes=96,
    roomy={"Array": "elements", "Object": "properties"},
    metadata=(*V8.metadata, "Callee", "ModuleRecord", "InternalModuleRegistry",
        "ModuleLoader"),
    containers=(*V8.containers, "system / JSLexicalEnvironment", "InternalFieldTuple",
        "*Generator", "Promise (*", "Module (*", "ModuleNamespaceObject"),
    library=(*(glob for glob in V8.library if glob != "system / *"),
        "system / JSLexicalEnvironment", "system / FunctionScope*", "Timeout",
        "*Prototype", "*Constructor"),
    spoken=(*V8.spoken,
        (r"^variable \d+ of a function$", "a function's variable")),
    root_words={
        **V8.root_words,
        "not_recorded": "a Map, Set or variable, whose contents Bun does not record"
    },
)  # fmt: skip
