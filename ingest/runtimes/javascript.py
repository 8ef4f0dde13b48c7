"""What is known of JavaScript in a heap that PerfView wrote.

Such a heap may have objects of .NET beside those of JavaScript, so the rules for .NET
apply, too.
"""

from __future__ import annotations

from dataclasses import replace

from ingest.runtimes.dotnet import DOTNET

JAVASCRIPT = replace(
    DOTNET,
    name="javascript",
    program="a JavaScript program",
    signs=("[[]JS Roots]", "*(Type*JS*)"),
    roots=(*DOTNET.roots, "[[]JS Roots]", "*(Type*JSGlobal)"),
    containers=(
        *DOTNET.containers,
        "*(Type*JSArray)", "*(Type*Scope)", "*(Type*JSFunction)",
    ),
    library=(*DOTNET.library, "*String)"),
)  # fmt: skip
