"""The known heaps, and which of the library's questions are asked of their tables."""

from __future__ import annotations

from tests.cypher.dart_heap import dart_heap
from tests.cypher.dotnet_heap import dotnet_heap
from tests.cypher.heap import lattice, main_heap, reasons, two_domains
from tests.cypher.jvm_heap import jvm_heap
from tests.cypher.python_heap import python_heap
from tests.cypher.v8_heap import v8_heap

HEAPS = (
    main_heap, two_domains, dart_heap, dotnet_heap, jvm_heap, v8_heap, python_heap,
    lattice, reasons,
)  # fmt: skip

OF_THE_NODE = {"dump", "warnings"}
"""What the node of the dump is asked for, which is not in a table."""
