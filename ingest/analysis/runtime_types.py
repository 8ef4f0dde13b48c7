"""Which types belong to a runtime, and which to the program that runs on it.

One table for each family of runtimes, and one line for each format. Patterns are
globs over full type names, as the runtime spells them; the first that matches decides.
"""

from __future__ import annotations

import re
from enum import IntEnum
from fnmatch import translate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


class TypeClass(IntEnum):
    """To whom a type belongs."""

    PROGRAM = 0
    """The program's own."""

    LIBRARY = 1
    """Values of the runtime and its libraries: strings, textures, streams."""

    CONTAINER = 2
    """What only leads to other objects: arrays of references, collections, delegates,
    boxes, tasks."""

    METADATA = 3
    """What the virtual machine keeps about the program: classes, code, scripts."""

    ROOTS = 4
    """A pseudo object that stands for roots."""


class RuntimeTypes(NamedTuple):
    """Globs of the types of one runtime, by class; all others are the program's own."""

    roots: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    library: tuple[str, ...] = ()


_DOTNET_PRIMITIVES = (
    "Boolean", "Byte", "SByte", "Char", "Decimal", "Double", "Single", "Int16",
    "Int32", "Int64", "UInt16", "UInt32", "UInt64", "IntPtr", "UIntPtr",
)  # fmt: skip

DOTNET = RuntimeTypes(
    roots=(".NET Roots", "[[].NET Roots]", "[[]* Roots]", "Root"),
    # Arrays of numbers are values, so that a large buffer has a name.
    values=tuple(f"{prefix}{name}[[]*]" for name in _DOTNET_PRIMITIVES
                 for prefix in ("System.", "")),
    containers=(
        "*[[]]", "*[[],]", "*[[],,]", "*[[]] (*)", "System.Collections.*",
        "System.Object",
        "System.*Delegate", "System.Action*", "System.Func*", "System.Predicate*",
        "System.Comparison*", "System.*EventHandler*", "System.*Callback*",
        "System.Lazy*", "System.Tuple*", "System.ValueTuple*", "System.Nullable*",
        "System.WeakReference*", "System.Threading.*", "System.Linq.*",
        "System.Runtime.CompilerServices.*", "System.AppDomain",
        "System.ComponentModel.EventHandlerList*", "Microsoft.Extensions.Caching.*",
        # Nested types, of which a trace does not name the outer one.
        "Entry[[]*", "Container[[]*", "Node[[]*", "Tables[[]*", "Bucket[[]*",
        "Slot[[]*", "Segment[[]*", "VolatileNode[[]*", "SyncHashtable", "bucket",
    ),
    library=(
        "System.*", "Microsoft.*", "Internal.*", "Interop*", "MS.*", "Mono.*",
        "Windows.*", "Free", "String", *_DOTNET_PRIMITIVES, "SyncTextWriter",
        "OverideEventProvider", "EtwEnableCallback", "<type 0x*>",
    ),
)  # fmt: skip

DART = RuntimeTypes(
    roots=("Root", "Isolate*", "IsolateGroup"),
    metadata=(
        "Class", "PatchClass", "Function", "ClosureData", "FfiTrampolineData", "Field",
        "Script", "Library", "Namespace", "KernelProgramInfo", "WeakSerializationRef",
        "WeakArray", "Code", "Instructions*", "ObjectPool", "PcDescriptors",
        "CodeSourceMap", "CompressedStackMaps", "LocalVarDescriptors",
        "ExceptionHandlers", "ContextScope", "Sentinel", "SingleTargetCache",
        "UnlinkedCall", "MonomorphicSmiableCall", "CallSiteData", "ICData",
        "MegamorphicCache", "SubtypeTestCache", "LoadingUnit", "ApiError",
        "LanguageError", "UnhandledException", "UnwindError", "TypeParameters",
        "TypeArguments", "FinalizerEntry", "Bytecode", "InstructionsTable",
        "dart:core::_Type", "dart:core::_FunctionType", "dart:core::_RecordType",
        "dart:core::_TypeParameter", "dart:core::_LibraryPrefix",
    ),
    values=("dart:typed_data::_*List",),
    containers=(
        "dart:core::_List", "dart:core::_GrowableList", "dart:core::_ImmutableList",
        "dart:core::_Closure", "dart:core::_Record", "dart:core::_WeakReference",
        "dart:core::_WeakProperty", "dart:core::Expando", "Context",
        "dart:collection::*", "dart:_compact_hash::*", "dart:async::*",
        "dart:isolate::_Timer*", "dart:isolate::_RawReceivePort",
    ),
    library=("dart:*", "package:flutter/*"),
)  # fmt: skip

JAVASCRIPT = RuntimeTypes(
    roots=("[[]JS Roots]", "*(Type*JSGlobal)"),
    containers=("*(Type*JSArray)", "*(Type*Scope)", "*(Type*JSFunction)"),
    library=("*String)",),
)

JAVA = RuntimeTypes(
    metadata=(
        "java.lang.Class", "java.lang.ClassLoader", "*ClassLoader",
        "*ClassLoaders$*", "java.lang.Module", "java.lang.module.*",
        "java.lang.Module$*", "java.lang.reflect.*", "java.lang.invoke.*",
        "java.lang.ClassValue*", "java.security.ProtectionDomain*",
        "jdk.internal.reflect.*", "sun.reflect.*", "dalvik.system.*",
        "java.lang.DexCache", "java.lang.ref.Finalizer$*",
    ),
    # Arrays of numbers are values, so that a large buffer has a name.
    values=tuple(
        f"{name}[[]]"
        for name in ("boolean", "char", "float", "double", "byte", "short", "int",
                     "long")
    ),
    containers=(
        "*[[]]", "java.util.*Map", "java.util.*Map$*", "java.util.*List",
        "java.util.*List$*", "java.util.*Set", "java.util.*Set$*", "java.util.*Queue",
        "java.util.*Queue$*", "java.util.*Deque", "java.util.*Deque$*",
        "java.util.Hashtable*", "java.util.Vector*", "java.util.Stack",
        "java.util.Properties", "java.util.Collections$*", "java.util.Arrays$*",
        "java.util.ImmutableCollections$*", "java.util.Optional*",
        "java.util.concurrent.*", "java.util.stream.*", "java.util.function.*",
        "java.util.Timer*", "java.util.TaskQueue", "java.lang.Object",
        "java.lang.ThreadLocal*", "java.lang.InheritableThreadLocal*",
        "java.lang.ref.*", "java.beans.PropertyChange*", "*$$Lambda*",
        "*$$ExternalSyntheticLambda*", "*$$InternalSyntheticLambda*",
        "jdk.internal.ref.*", "jdk.internal.util.*",
        "kotlin.collections.*", "kotlin.Pair", "kotlin.Triple", "kotlin.Lazy*",
        "kotlin.*Lazy*", "kotlin.jvm.internal.Ref$*", "kotlinx.coroutines.*",
        "scala.collection.*", "scala.Some", "scala.Tuple*",
        "android.util.*Array*", "android.util.*Map*", "androidx.collection.*",
        "com.google.common.collect.*", "it.unimi.dsi.fastutil.*",
    ),
    library=(
        "java.*", "javax.*", "jdk.*", "sun.*", "com.sun.*", "kotlin.*", "kotlinx.*",
        "scala.*", "groovy.*", "android.*", "androidx.*", "com.android.*",
        "libcore.*", "dalvik.*", "org.apache.harmony.*", "<class 0x*>",
    ),
)  # fmt: skip

_TABLES: dict[str, tuple[RuntimeTypes, ...]] = {
    "gclog": (DOTNET,),
    "gcdump": (DOTNET, JAVASCRIPT),
    "nettrace": (DOTNET,),
    "clrprofiler": (DOTNET,),
    "traverseheap": (DOTNET,),
    "dartheap": (DART,),
    "hprof": (JAVA,),
}


def has_delegates(format_name: str) -> bool:
    """Whether a dump of the format may be of a runtime that has delegate types."""
    return DOTNET in _TABLES.get(format_name, ())


def type_classes(
    format_name: str, type_names: Sequence[str], own: Sequence[str] = ()
) -> NDArray[np.uint8]:
    """uint8 (T,): the `TypeClass` of each type.

    Args:
        format_name: Name of the reader; one without a table has no runtime's types.
        type_names: T full names.
        own: Globs of types that are the program's own whatever the tables say; those
            that begin with ``!`` are of a library. The last that matches decides.
    """
    tables = _TABLES.get(format_name, ())
    if DART not in tables and any(name.startswith("dart:") for name in type_names):
        tables += (DART,)  # converted from the format of another runtime
    classes = np.zeros(len(type_names), np.uint8)
    if not tables:
        return _with_own(classes, type_names, own)
    rules = [
        (TypeClass.ROOTS, _any(tables, "roots")),
        (TypeClass.METADATA, _any(tables, "metadata")),
        (TypeClass.LIBRARY, _any(tables, "values")),
        (TypeClass.CONTAINER, _any(tables, "containers")),
        (TypeClass.LIBRARY, _any(tables, "library")),
    ]
    for row, name in enumerate(type_names):
        for kind, matches in rules:
            if matches(name):
                classes[row] = kind
                break
    return _with_own(classes, type_names, own)


def _any(tables: Sequence[RuntimeTypes], kind: str) -> Callable[[str], object]:
    """A match of any glob of a kind against a whole name."""
    globs = [glob for table in tables for glob in getattr(table, kind)]
    # An empty alternative would match every name.
    return re.compile("|".join(map(translate, globs)) or "(?!)").match


def _with_own(
    classes: NDArray[np.uint8], type_names: Sequence[str], own: Sequence[str]
) -> NDArray[np.uint8]:
    for glob in own:
        kind = TypeClass.LIBRARY if glob.startswith("!") else TypeClass.PROGRAM
        matches = re.compile(translate(glob.removeprefix("!"))).match
        for row, name in enumerate(type_names):
            if matches(name):
                classes[row] = kind
    return classes
