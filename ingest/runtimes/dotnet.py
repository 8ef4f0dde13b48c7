"""What is known of .NET: CoreCLR, the .NET Framework, Mono, and XNA's runtime."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.runtimes.base import Runtime, TypeClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ingest.runtimes.base import TypeColumns

_DELEGATE_NAME = re.compile(r"(EventHandler|Handler|Callback|Delegate)(`|$)")
_DELEGATE_BYTES = 64

_DOTNET_PRIMITIVES = (
    "Boolean", "Byte", "SByte", "Char", "Decimal", "Double", "Single", "Int16",
    "Int32", "Int64", "UInt16", "UInt32", "UInt64", "IntPtr", "UIntPtr",
)  # fmt: skip


def _delegate_types(types: TypeColumns) -> NDArray[np.int64]:
    """Types of the program that are delegates, by their names or their shape.

    No dump marks delegates as such. A delegate has few references and one size; one
    with several targets refers to an array of delegates of its own type.
    """
    count, classes = types.instance_count, types.classes
    source, target = types.pair_source, types.pair_target
    references = np.zeros(len(count), np.int64)
    np.add.at(references, source, types.pair_count)
    small = (classes == TypeClass.PROGRAM) & (count > 0)
    small &= types.shallow_bytes <= _DELEGATE_BYTES * count
    small &= types.shallow_bytes % np.maximum(count, 1) == 0
    small &= references <= 2 * count + 1
    is_array = np.array([name.endswith("[]") for name in types.names], np.bool_)
    is_array &= classes == TypeClass.CONTAINER
    refers_to_itself = np.zeros(len(count), np.bool_)
    refers_to_itself[source[source == target]] = True
    to_array = np.flatnonzero(small[source] & is_array[target])
    from_array = np.flatnonzero(is_array[source] & small[target])
    back = set(
        zip(source[from_array].tolist(), target[from_array].tolist(), strict=True)
    )
    multicast = {
        kind
        for kind, array, number in zip(
            source[to_array].tolist(),
            target[to_array].tolist(),
            types.pair_count[to_array].tolist(),
            strict=True,
        )
        if (array, kind) in back
        and not refers_to_itself[kind]
        and 10 * number <= count[kind] + 10
    }
    # A class with such a name has collections and texts; a delegate has none.
    is_own = (classes[target] == TypeClass.CONTAINER) & ~is_array[target]
    is_own |= classes[target] == TypeClass.LIBRARY
    small[source[is_own]] = False
    named = [
        kind
        for kind in np.flatnonzero(small).tolist()
        if kind in multicast or _DELEGATE_NAME.search(types.names[kind])
    ]
    return np.array(named, np.int64)


DOTNET = Runtime(
    name="dotnet",
    program="a .NET program",
    has_finalizer_queue=True,
    unique_hashes=True,
    unloads_types=True,
    has_private_fields=True,
    # Tables of the runtime itself: of stubs, and of assemblies that can be unloaded.
    metadata=("*GCHeapHash", "*LAHashDependentHashTracker", "*LAHashKeyToTrackers"),
    stubs="GCHeapHash",
    roots=(".NET Roots", "[[].NET Roots]", "[[]* Roots]", "Root"),
    # Arrays of numbers are values, so that a large buffer has a name.
    values=(
        *(f"{prefix}{name}[[]*]" for name in _DOTNET_PRIMITIVES
            for prefix in ("System.", "")),
        "System.Threading.SemaphoreSlim",
    ),
    containers=(
        "*[[]]", "*[[],]", "*[[],,]", "*[[]] (*)", "System.Collections.*",
        "System.Object",
        "System.*Delegate", "System.Action*", "System.Func*", "System.Predicate*",
        "System.Comparison*", "System.*EventHandler*", "System.*Callback*",
        "System.Lazy*", "System.Tuple*", "System.ValueTuple*", "System.Nullable*",
        "System.WeakReference*", "System.Threading.*", "System.Linq.*",
        "System.Runtime.CompilerServices.*",
        "System.ComponentModel.EventHandlerList*", "Microsoft.Extensions.Caching.*",
        # Nested types, for which a trace does not name the outer one.
        "Entry[[<]*", "Container[[<]*", "Node[[<]*", "Tables[[<]*", "Bucket[[<]*",
        "Slot[[<]*", "Segment[[<]*", "VolatileNode[[<]*", "SyncHashtable", "bucket",
        "CallbackNode", "CallbackPartition", "Registrations", "KeyValueListNode",
        "Linked*CancellationTokenSource", "ContingentProperties", "LinkedSlot[[<]*",
        "LinkedSlotVolatile[[<]*", "TaskNode", "DelayPromise*", "WhenAllPromise*",
        "*AsyncLocalValueMap", "WorkStealingQueue[[<]*",
        # Of System.Linq.Enumerable.
        *(f"{name}Iterator*[[<]*" for name in (
            "Concat2", "ConcatN", "Where*", "Select*", "AppendPrepend*", "Union*",
            "Distinct", "Reverse", "DefaultIfEmpty",
        )),
    ),
    library=(
        "System.*", "Microsoft.*", "Internal.*", "Interop*", "MS.*", "Mono.*",
        "Windows.*", "Free", "String", *_DOTNET_PRIMITIVES, "SyncTextWriter",
        "OverideEventProvider", "EtwEnableCallback", "<type 0x*>",
        "UNKNOWN 0x*",
    ),
    delegate_types=_delegate_types,
    fixed=("System.Collections.Frozen.*",),
    bounded=(
        "Microsoft.Extensions.Caching.Memory.MemoryCache",
        "System.Runtime.Caching.MemoryCache", "System.Buffers.*ArrayPool*",
    ),
    limited_keys=("System.RuntimeType", "System.Globalization.CultureInfo",
        "System.Reflection.Runtime*Info"),
    statics_table="System.Object[]",
    timers=("System.Threading.Timer", "System.Threading.TimerHolder",
        "System.Threading.TimerQueueTimer"),
    delays=r"(?:^|\+)DelayPromise",
    futures=r"System\.Threading\.Tasks\.Task(?:`1)?(?:[\[<]|$)",
    # Nested types, for which a trace does not name the outer one.
    continuations=r"(?:.*[.+])?(?:\w*TaskContinuation|CompleteOn\w*InvokePromise"
        r"|\w*WhenA\w+Promise|UnwrapPromise|AsyncStateMachineBox)",
    patterns={
        "lock": r"^System\.Threading\.SemaphoreSlim$",
        "event handlers": r"^System\.Action|^System\.Func",
        "queue": r"BlockingCollection|ConcurrentBag|Threading\.Channels\.",
        "map": r"SortedList|ConditionalWeakTable|^(?:Entry|Container)[\[<]",
        "closure": r"DisplayClass",
        "delegate": r"(?:EventHandler|Delegate|Callback)(?:`\d+|[<[].*)*$",
    },
    # What a subject of Rx has in an array until it is disposed.
    listeners=r"(?:Observer|SubjectDisposable|Subscription)(?:`\d+)?"
        r"(?:\[(?!\]).*\]|<.*>)?\[\]$",
    # The box of an async method: AsyncStateMachineBox`1[Result,Shop+<PayAsync>d__3].
    spoken=((r"^.*AsyncStateMachineBox(?:`1)?[\[<](?:.*,)?([^,]*?)\+?"
        r"<(\w+)>\w*[\]>]$", r"AsyncStateMachineBox of \1.\2"),),
    freed_by=(
        (r"\b_ThreadPoolWaitOrTimerCallback$",
            "unregister the waits of the thread pool "
            "(RegisteredWaitHandle.Unregister)"),
        (r"\b(?:SubjectDisposable|Subscription)\b.*\[\]$",
            "dispose the subscriptions (IDisposable.Dispose)"),
        (r"LoadContext$", "unload the load contexts (AssemblyLoadContext.Unload)"),
        (r"AsyncLocalValueMap$", "reset the AsyncLocal that leads there"),
    ),
    # The paths of its assemblies, in AppContext.
    own_bytes=1 << 16,
    has_structures=True,
    numbers=(
        # PerfView's remarks on arrays and on objects that native code refers to.
        (r" \((?:No)?Ptrs,ElemSize=\d+\)", ""),
        (r"RefCnt: \d+", "RefCnt"),
        # C#: <>c__DisplayClass3_0, <Main>b__3_0, <Run>g__Local|3_0, <>9__3_0.
        (r"(<[^<>]*>\w*?__[A-Za-z]*(?:\w*\|)?)\d+(?:_\d+)?", r"\1"),
        (r"(_Closure\$__|VB\$Anonymous[A-Za-z]+_)\d+(?:-\d+)?", r"\1"),
        (r"(Castle\.Proxies\.\w+?Proxy)_\d+", r"\1"),
        # F# closures.
        (r"@\d+(?:-\d+)?", "@"),
    ),
    inside=(
        r"System\.Collections\..*"
        r"\+(?:Entry|Node|VolatileNode|Tables|[Bb]ucket|Slot|Segment)"
        r"(?:<.*>)?(?:\[\])*",
        # Nested types, for which a trace does not name the outer one.
        r"(?:Entry|Node|VolatileNode|Tables|Bucket|Slot|Segment|Container)<.*>(?:\[\])*",
        r"bucket(?:\[\])?",
    ),
)  # fmt: skip
