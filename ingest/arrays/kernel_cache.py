"""The cache of the kernels' machine code, and what makes code stale.

numba's own cache watches only the file that defines a kernel: after a change in a
helper of another file it would run old code. Here each module with kernels has a
folder named after everything that goes into its code: its source, the sources of the
modules of the project that it imports, directly or not, and the versions of Python,
numpy, llvmlite and numba. Inside, numba distinguishes argument types and processors,
and replaces files atomically, so that two processes may compile at once.

The package can bring such folders itself, in `BROUGHT`, made by `python -m
tests.prebuild` for any processor of its kind. What is not there, or for other versions,
is compiled at its first call into the user's cache.

This module imports numba.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba.core import event, types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python
from numba.extending import intrinsic

from ingest import __version__
from ingest.system.places import places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BROUGHT = Path(__file__).parents[1] / "kernels"
"""Folders of machine code that came with the package, trusted like its source."""

_PREFIX = "heaproots-"
_UNUSED_DAYS = 30
_DAY_SECONDS = 86_400
_IMPORT = re.compile(
    r"^(?:from[ ]+([\w.]+)[ ]+import[ ]+(\([^)]*\)|.*)|import[ ]+(.*))", re.MULTILINE
)
"""An import without indentation; kernels use nothing that is imported elsewhere."""


_TO_READ_AGAIN = 0, 3, 1
"""Arguments of LLVM's ``prefetch``: for reading, into all caches, data."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """The beginning or end of a kernel's compilation.

    Attributes:
        kernel: Its name.
        is_done: Whether this is the end.
        obstacle: Why the code cannot be stored; empty if it can.
    """

    kernel: str
    is_done: bool
    obstacle: str


def dispatcher(
    function: Callable[..., Any], report: Callable[[Compilation], None]
) -> Callable[..., Any]:
    """The numba dispatcher of a kernel; nothing is compiled or loaded yet.

    Args:
        function: The kernel as it was written.
        report: Called when it is compiled because the cache does not have it.
    """
    made: Callable[..., Any] = _dispatcher(function, report, is_callee=False)
    return made


def callee(
    function: Callable[..., Any], report: Callable[[Compilation], None]
) -> object:
    """The numba type of a kernel that another one calls; see `dispatcher`."""
    return _Callee(_dispatcher(function, report, is_callee=True))


@functools.cache
def fetcher() -> object:
    """The numba type of `ingest.arrays.compiled.fetch` in a kernel."""

    @intrinsic
    def fetch(_: object, column: Any, at: Any) -> Any:  # noqa: ANN401
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401
            of_column = context.make_array(signature.args[0])
            data = of_column(context, builder, values[0]).data
            address = builder.bitcast(
                builder.gep(data, [values[1]]), ir.PointerType(ir.IntType(8))
            )
            number = ir.IntType(32)
            called = builder.module.declare_intrinsic(
                "llvm.prefetch",
                [address.type],
                ir.FunctionType(ir.VoidType(), [address.type, number, number, number]),
            )
            builder.call(called, [address, *map(number, _TO_READ_AGAIN)])
            return context.get_dummy_value()

        return types.none(column, types.intp), generate

    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(fetch)


def _dispatcher(
    function: Callable[..., Any],
    report: Callable[[Compilation], None],
    *,
    is_callee: bool,
) -> Any:  # noqa: ANN401
    # Without numba's runtime, a kernel can make no arrays, and counts no references to
    # those that it passes on. A tuple of twenty of them would cost a hundred
    # nanoseconds a call. What unpacks the arguments of Python is often longer than the
    # kernel: where only kernels call it, it is not compiled.
    made = numba.njit(
        nogil=True, _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=is_callee
    )(function)
    try:
        made._cache, obstacle = _KernelCache(function, is_callee), ""
    except OSError as error:
        made._cache, obstacle = _BroughtCache(function, is_callee), str(error)
    _REPORTER.watched[made] = (report, obstacle)
    return made


class _Callee(types.Dispatcher):
    """A kernel that another one calls, compiled once, not for each kind of number.

    numba would compile it again for every constant and width of integer that some call
    passes: the half of all the time that it took.
    """

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:  # noqa: ANN401
        return super().get_call_type(context, tuple(map(_widened, args)), kws)


def _widened(argument: Any) -> Any:  # noqa: ANN401
    """The type of an argument, without its value; signed integers have 64 bits."""
    plain: Any = getattr(argument, "literal_type", argument)
    if plain in types.signed_domain:
        return types.int64
    return plain


class _Reporter(event.Listener):  # type: ignore[misc]
    """Passes on what numba says of our kernels, not of its own."""

    def __init__(self) -> None:
        self.watched: dict[Any, tuple[Callable[[Compilation], None], str]] = {}

    def on_start(self, event: Any) -> None:  # noqa: ANN401
        self._report(event.data["dispatcher"], is_done=False)

    def on_end(self, event: Any) -> None:  # noqa: ANN401
        self._report(event.data["dispatcher"], is_done=True)

    def _report(self, made: Any, *, is_done: bool) -> None:  # noqa: ANN401
        if made in self.watched:
            report, obstacle = self.watched[made]
            report(Compilation(made.py_func.__qualname__, is_done, obstacle))


_REPORTER = _Reporter()
event.register("numba:compile", _REPORTER)


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Places a function's code in the folder of its module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._folder = self.folder(folder_name(function.__module__))
        self._line = function.__code__.co_firstlineno

    @staticmethod
    def folder(name: str) -> Path:
        return _writable_once(name)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], _file: str) -> _Locator:
        return cls(py_func)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return ""  # the name of the folder says it

    def get_disambiguator(self) -> str:
        return str(self._line)


class _BroughtLocator(_Locator):
    """The same for code that came with the package, where nothing is written."""

    @staticmethod
    def folder(name: str) -> Path:
        return BROUGHT / name


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    """What is stored of a kernel: of one that Python calls, only the machine code.

    numba stores its bitcode, too, from which other code is made that calls it. To read
    that again takes longer than all else when code is loaded.
    """

    _locator_classes = (_Locator,)
    is_callee = False

    def reduce(self, cres: Any) -> tuple[Any, ...]:  # noqa: ANN401
        (name, kind, (code, bitcode)), described, *rest = super().reduce(cres)
        if not self.is_callee:
            bitcode = _names_of(cres.library, described.env_name)
        return ((name, kind, (code, bitcode)), described, *rest)


class _BroughtImplementation(_Implementation):
    _locator_classes = (_BroughtLocator,)


def _names_of(library: Any, environment: str) -> bytes:  # noqa: ANN401
    """Bitcode that defines what numba looks for in loaded code by its name."""
    module, pointer = ir.Module(), ir.IntType(8).as_pointer()
    variable = ir.GlobalVariable(module, pointer, environment)
    variable.initializer = ir.Constant(pointer, None)
    for defined in library.get_defined_functions():
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), []), defined.name)
        ir.IRBuilder(function.append_basic_block()).ret_void()
    bitcode: bytes = llvmlite.binding.parse_assembly(str(module)).as_bitcode()
    return bitcode


class _BroughtCache(FunctionCache):  # type: ignore[misc]
    """Loads what came with the package; saves nothing."""

    _impl_class = _BroughtImplementation

    def __init__(self, function: Callable[..., Any], is_callee: bool) -> None:
        super().__init__(function)
        self._is_callee = self._impl.is_callee = is_callee
        brought = _BroughtLocator(function).get_cache_path()
        self._brought = IndexDataCacheFile(brought, self._impl.filename_base, "")

    def _index_key(self, sig: object, codegen: Any) -> tuple[Any, ...]:  # noqa: ANN401
        return (*super()._index_key(sig, codegen), self._is_callee)

    def load_overload(self, sig: object, target_context: Any) -> object:  # noqa: ANN401
        # numba would first load all that it needs for compiling, 0.3 s and 20 MiB, and
        # generate the code of its reference counts, 20 MiB. Stored code contains
        # these; it only needs to find the functions of numba's runtime.
        _link_runtime()
        if numba.config.BOUNDSCHECK:  # other code, and not in what it is stored under
            return None
        signature, processor, *rest = self._index_key(sig, target_context.codegen())
        of_any = (processor[0], "generic", "")
        data = None
        with suppress(OSError):  # as where another user has installed the package
            data = self._brought.load((signature, of_any, *rest))
        return None if data is None else self._impl.rebuild(target_context, data)

    def save_overload(self, sig: object, data: object) -> None:
        pass


class _KernelCache(_BroughtCache):
    """Loads what came with the package, and stores and loads the rest."""

    _impl_class = _Implementation

    def load_overload(self, sig: object, target_context: Any) -> object:  # noqa: ANN401
        found = super().load_overload(sig, target_context)
        if found is None:
            found = self._load_overload(sig, target_context)
        if found is None:
            found = FunctionCache.load_overload(self, sig, target_context)
        return found

    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):  # such as of a full disk: the code runs all the same
            FunctionCache.save_overload(self, sig, data)


@functools.cache
def _link_runtime() -> None:
    """Tell LLVM the addresses of the functions that all machine code of numba calls."""
    for name, address in _nrt_python.c_helpers.items():
        symbol = name if name.startswith("_") else f"NRT_{name}"
        llvmlite.binding.add_symbol(symbol, address)


@functools.cache
def folder_name(module: str) -> str:
    """Name of the cache folder for the kernels of an imported module."""
    digest = hashlib.sha256()
    versions = (sys.implementation.cache_tag, np, llvmlite, numba)
    for version in (getattr(used, "__version__", used) for used in versions):
        digest.update(f"{version} ".encode())
    for name, source in sorted(_sources(module).items()):
        digest.update(f"{name} {source}\n".encode())
    return f"{_PREFIX}{__version__}-{digest.hexdigest()[:24]}"


@functools.cache
def _sources(module: str) -> dict[str, str]:
    """Digests of the source of a module and of those that it imports, by name.

    Only modules of the same project count: ours and those of the module's own
    top-level package.
    """
    project = {__name__.partition(".")[0], module.partition(".")[0]}
    found: dict[str, str] = {}
    todo = {module, __name__}
    while todo:
        name = todo.pop()
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None or name in found or name.partition(".")[0] not in project:
            continue
        found[name], imported = _source(file)
        todo |= imported
    return found


@functools.cache
def _source(file: str) -> tuple[str, frozenset[str]]:
    """Digest of a source file, and the names that it imports at its margin."""
    content = Path(file).read_bytes()
    names = set()
    for origin, members, modules in _IMPORT.findall(content.decode("utf-8")):
        names |= {origin, *re.findall(r"[\w.]+", modules)}
        names |= {f"{origin}.{member}" for member in re.findall(r"\w+", members)}
    return hashlib.sha256(content).hexdigest(), frozenset(names)


def _writable_folder(name: str) -> Path:
    """A folder with a name in the user's cache, else in a temporary folder.

    Raises:
        OSError: neither can be written, or other users can write there, too.
    """
    problems = []
    for base in _bases():
        folder = base / name
        try:
            _make_private(base)
            is_new = not folder.is_dir()
            _make_private(folder)
            tempfile.TemporaryFile(dir=folder).close()
            if is_new:
                _remove_unused(base)
            elif time.time() - folder.stat().st_mtime > _DAY_SECONDS:
                os.utime(folder)
        except OSError as error:
            problems.append(f"{base}: {error.strerror or error}")
        else:
            return folder
    raise OSError("; ".join(problems))


_writable_once = functools.cache(_writable_folder)


def _bases() -> Iterator[Path]:
    """Folders that may contain the cache."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen)
    else:
        with suppress(OSError):  # a user without a home
            yield places().cache / "kernels"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(tempfile.gettempdir()) / f"{_PREFIX}kernels-{user}"


def _make_private(folder: Path) -> None:
    """Make a folder to which only its owner can write, since its content is run.

    Raises:
        OSError: it belongs to another user, or other users can write to it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.stat()
    if not stat.S_ISDIR(about.st_mode):
        raise NotADirectoryError(f"{folder} is no folder")
    if not hasattr(os, "getuid"):
        return
    if {about.st_uid, folder.lstat().st_uid} != {os.getuid()}:
        raise PermissionError(f"{folder} belongs to another user")
    if about.st_mode & 0o022:
        raise PermissionError(f"other users can write to {folder}")


def _remove_unused(base: Path) -> None:
    """Remove the folders that no process has used for a month."""
    oldest = time.time() - _UNUSED_DAYS * _DAY_SECONDS
    for folder in base.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)
