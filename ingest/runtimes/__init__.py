"""The runtimes whose heaps we know. To add one: write its module, name it here.

`ingest.heap.graph.HeapGraph.runtime` names the runtime of a heap; nothing else asks for
the format to learn it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.runtimes.base import Platform, Runtime, TypeClass, TypeColumns
from ingest.runtimes.bun import BUN
from ingest.runtimes.cpython import CPYTHON
from ingest.runtimes.dart import DART
from ingest.runtimes.dotnet import DOTNET
from ingest.runtimes.javascript import JAVASCRIPT
from ingest.runtimes.jvm import JVM
from ingest.runtimes.ruby import RUBY
from ingest.runtimes.v8 import V8

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BUN", "CPYTHON", "DART", "DOTNET", "JAVASCRIPT", "JVM", "NAMES", "RUBY",
    "RUNTIMES", "UNKNOWN", "V8", "Platform", "Runtime", "TypeClass", "TypeColumns",
    "named", "of_types",
]  # fmt: skip

RUNTIMES: tuple[Runtime, ...] = (JVM, DOTNET, DART, JAVASCRIPT, V8, BUN, CPYTHON, RUBY)
"""All runtimes. A fingerprint applies the rules of all of them in this order."""

UNKNOWN = Runtime(name="", program="a program")
"""The runtime of a heap that does not tell: all types are the program's own."""

_BY_NAME = {runtime.name: runtime for runtime in (*RUNTIMES, UNKNOWN)}

NAMES = frozenset(_BY_NAME)
"""Names of runtimes; empty for an unknown one."""


def named(name: str) -> Runtime:
    """The runtime with a name of `NAMES`."""
    return _BY_NAME[name]


def of_types(type_names: Sequence[str], default: Runtime) -> str:
    """The name of the runtime that has these types.

    For formats that are written for one runtime, but to which heaps of other runtimes
    are converted.

    Args:
        type_names: Full names of the types of a heap.
        default: The runtime that the format was written for.
    """
    others = (runtime for runtime in RUNTIMES if runtime is not default)
    found = (runtime for runtime in others if runtime.has_signs(type_names))
    return next(found, default).name
