"""Compilation, once and in the background, of kernels that no package brought.

A wheel has machine code for the Python and the libraries that it was built with. With
others, the first answer compiles the kernels that it needs itself. Meanwhile a process
of its own, which has the lowest priority and outlives the command, compiles all others
into the user's cache, so that later commands wait for none. Which there are, and for
which types of arguments, says a list that came with the package.

This module imports numba.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from numba import types
from numba.core.errors import NumbaError

from ingest.arrays import kernel_cache
from ingest.system.detached import start_detached

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LIST = "signatures.json"
_NICENESS = 19
_BEFORE_OTHERS = "ingest.analysis"
"""Room whose kernels every dump needs, after those of its reader."""


class Signature(NamedTuple):
    """A kernel, and types of arguments that it is called with.

    Attributes:
        module: Its module.
        kernel: Its name in the module.
        arguments: The types, as `_described` returns them.
    """

    module: str
    kernel: str
    arguments: list[object]


def is_first() -> bool:
    """Whether nothing was compiled before with this version and these libraries.

    If so, all other kernels are compiled from now on, by another process; not where
    ``CI`` says that the machine is thrown away, or ``NUMBA_CACHE_DIR`` names a folder.
    """
    try:
        folder = kernel_cache._writable_folder(kernel_cache.folder_name(__name__))
        (folder / "started").open("x").close()
    except FileExistsError:
        return False
    except OSError:
        return True
    is_wanted = not {"CI", "NUMBA_CACHE_DIR"} & os.environ.keys()
    if is_wanted and sys.executable and (kernel_cache.BROUGHT / _LIST).exists():
        with suppress(OSError):
            start_detached([sys.executable, "-m", __name__])
    return True


def compile_all(listed: Iterable[Signature]) -> int:
    """Compile kernels that are not stored yet; return how many could not be.

    What another version of numba describes otherwise is left to the first call.
    """
    failed = 0
    for one in sorted(
        listed, key=lambda one: not one.module.startswith(_BEFORE_OTHERS)
    ):
        try:
            found = getattr(import_module(one.module), one.kernel)
            found.dispatcher().compile(tuple(map(_typed, one.arguments)))
        except (AttributeError, ImportError, TypeError, ValueError, NumbaError):
            failed += 1
    return failed


def write_list(modules: Iterable[str]) -> int:
    """Write the list of all kernels that the package brings; return their number.

    Args:
        modules: The modules with kernels, which have been imported.
    """
    found = [one for module in modules for one in _brought(module)]
    text = json.dumps(sorted(found), separators=(",", ":")) + "\n"
    (kernel_cache.BROUGHT / _LIST).write_text(text, encoding="utf-8")
    return len(found)


def read_list() -> list[Signature]:
    """The list that came with the package.

    Raises:
        OSError: there is no list.
    """
    text = (kernel_cache.BROUGHT / _LIST).read_text(encoding="utf-8")
    return [Signature(*entry) for entry in json.loads(text)]


def _brought(module: str) -> Iterator[Signature]:
    """Signatures in numba's index files of a module, unless only kernels call them."""
    for file in (kernel_cache.BROUGHT / kernel_cache.folder_name(module)).glob("*.nbi"):
        with file.open("rb") as index:
            pickle.load(index)  # the version of numba
            _, overloads = pickle.loads(index.read())
        name = file.name.partition(".")[2].partition("-")[0]
        for signature, *_, is_callee in overloads:
            if not is_callee:
                yield Signature(module, name, list(map(_described, signature)))


def _described(kind: Any) -> object:  # noqa: ANN401
    """A type of numba as JSON."""
    if isinstance(kind, types.Array):
        return ["array", str(kind.dtype), kind.ndim, kind.layout, not kind.mutable]
    if isinstance(kind, types.BaseNamedTuple):
        made_of = kind.instance_class
        return [
            "named",
            made_of.__module__,
            made_of.__qualname__,
            *map(_described, kind),
        ]
    if isinstance(kind, types.BaseTuple):
        return ["tuple", *map(_described, kind)]
    if isinstance(kind, types.IntEnumMember):
        made_of = kind.instance_class
        return ["enum", made_of.__module__, made_of.__qualname__, str(kind.dtype)]
    return str(kind)


def _typed(described: Any) -> Any:  # noqa: ANN401
    """The type of numba that `_described` returned this for.

    Raises:
        AttributeError: there is no such type.
        ImportError: its class cannot be found.
    """
    if isinstance(described, str):
        return getattr(types, described)
    what, *parts = described
    if what == "array":
        dtype, dimensions, layout, is_readonly = parts
        return types.Array(_typed(dtype), dimensions, layout, readonly=is_readonly)
    if what == "tuple":
        return types.BaseTuple.from_types(tuple(map(_typed, parts)))
    module, name, *rest = parts
    found = getattr(import_module(module), name)
    if what == "enum":
        return types.IntEnumMember(found, _typed(rest[0]))
    return types.BaseTuple.from_types(tuple(map(_typed, rest)), found)


if __name__ == "__main__":
    with suppress(OSError):
        os.nice(_NICENESS)
    with suppress(OSError):
        compile_all(read_list())
