"""Kernels: functions that numba compiles to machine code.

Importing a module of kernels imports no numba: that takes a quarter of a second and
60 MiB, so it waits for the first call. Where the machine code is stored, and what it
is stored under, is in `ingest.arrays.kernel_cache`.
"""

from __future__ import annotations

import functools
import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ingest.system import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

    from ingest.arrays.kernel_cache import Compilation

    F = TypeVar("F", bound=Callable[..., Any])

    # Types of kernel arguments; a number's own type is numba's to infer.
    Number = Any
    Bools = NDArray[np.bool_]
    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int32]
    Longs = NDArray[np.int64]
    Starts = NDArray[np.int32 | np.int64]
    Ids = NDArray[np.uint64]
    Numbers = NDArray[np.generic]

_LOCK = threading.RLock()
_LISTENERS: list[Callable[[Compilation], None]] = []
_AFTER_IMPORT: list[Callable[[], None]] = []


@contextmanager
def compilations_reported(listener: Callable[[Compilation], None]) -> Iterator[None]:
    """Call ``listener`` when kernels are compiled, from any thread."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def _report(compilation: Compilation) -> None:
    for listener in _LISTENERS:
        listener(compilation)


@contextmanager
def frozen_imports() -> Iterator[None]:
    """Within, no garbage is looked for among what the import of numba makes.

    It makes 90,000 objects that live as long as the process: to look at them, now,
    later and at the end, takes a sixth of the time of a short command. With them all
    objects of the process are left out, so this is for commands, not for programs that
    use the package.
    """
    _AFTER_IMPORT.append(gc.freeze)
    try:
        yield
    finally:
        _AFTER_IMPORT.remove(gc.freeze)


@functools.cache
def _kernel_cache() -> ModuleType:
    """`ingest.arrays.kernel_cache`, and with it numba."""
    collects = gc.isenabled()
    gc.disable()
    try:
        with interrupts.held():
            from ingest.arrays import kernel_cache
    finally:
        for follow in _AFTER_IMPORT:
            follow()
        if collects:
            gc.enable()
    return kernel_cache


class Kernel:
    """A function that is compiled, or loaded from the cache, at its first call.

    Attributes:
        py_func: The function as it was written.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self._dispatcher: Any = None
        self._callee: object = None
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401
        """Run the machine code for arguments of these types."""
        return (self._dispatcher or self.dispatcher())(*args)

    def dispatcher(self) -> Any:  # noqa: ANN401
        """The numba dispatcher of the function; it chooses code by argument types."""
        with _LOCK:
            if self._dispatcher is None:
                self._dispatcher = _kernel_cache().dispatcher(self.py_func, _report)
        return self._dispatcher

    @property
    def _numba_type_(self) -> object:
        """The numba type of this object if another kernel calls it."""
        with _LOCK:
            if self._callee is None:
                self._callee = _kernel_cache().callee(self.py_func, _report)
        return self._callee


def kernel(function: F) -> F:
    """Compile ``function`` at its first call: cached, and without the GIL.

    It can make no arrays, nor assign one to a slice of another: what it writes to is
    passed to it.
    """
    return cast("F", Kernel(function))


class _Fetch:
    """Makes the processor fetch an entry of a column that a kernel needs soon.

    A look-up at a random place of a large column takes as long as a hundred steps of a
    loop; several that are asked for ahead take hardly longer than one.
    """

    def __call__(self, column: Numbers, at: int) -> None:
        """Ask for entry ``at`` of the flat ``column``, which need not exist."""

    @property
    def _numba_type_(self) -> object:
        """The numba type of this object if a kernel calls it."""
        with _LOCK:
            return _kernel_cache().fetcher()


fetch = _Fetch()

AHEAD = 8
"""Steps of a loop between `fetch` of an entry and its use, or a multiple of these."""
