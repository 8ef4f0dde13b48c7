"""The objects that a JVM of JDK 17 and its library make for a program."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.bench.answers import model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.answers.model import Heap

NULL = -1
_WIDTHS = {"L": 4, "Z": 1, "B": 1, "C": 2, "S": 2, "I": 4, "F": 4, "D": 8, "J": 8}
_PRIMITIVE_ARRAYS = {
    "byte[]": 1, "boolean[]": 1, "char[]": 2, "short[]": 2, "int[]": 4, "float[]": 4,
    "long[]": 8, "double[]": 8,
}  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-_"

_JDK = """
java.lang.Object:
java.lang.Class: name module classLoader
java.lang.ClassLoader: parent name parallelLockMap packages classes assertionLock
jdk.internal.loader.BuiltinClassLoader < java.lang.ClassLoader: ucp moduleToReader
jdk.internal.loader.ClassLoaders$AppClassLoader < jdk.internal.loader.BuiltinClassLoader:
java.net.URLClassLoader < java.lang.ClassLoader: ucp closeables
java.lang.String: value hash:I coder:B hashIsZero:Z
java.lang.Number:
java.lang.Integer < java.lang.Number: value:I
java.lang.Long < java.lang.Number: value:J
java.lang.Double < java.lang.Number: value:D
java.lang.Enum: name ordinal:I
java.math.BigDecimal < java.lang.Number: intVal scale:I precision:I stringCache intCompact:J
java.util.Locale: baseLocale localeExtensions hashCodeValue:I languageTag
java.time.Instant: seconds:J nanos:I
java.util.UUID: mostSigBits:J leastSigBits:J
java.lang.Thread: name priority:I daemon:Z target group contextClassLoader threadLocals inheritableThreadLocals tid:J eetop:J threadStatus:I blockerLock
java.lang.ThreadGroup: parent name maxPriority:I destroyed:Z threads nthreads:I groups ngroups:I
java.lang.ThreadLocal: threadLocalHashCode:I
java.lang.ThreadLocal$SuppliedThreadLocal < java.lang.ThreadLocal: supplier
java.lang.ThreadLocal$ThreadLocalMap: table size:I threshold:I
java.lang.ref.Reference: referent queue next discovered
java.lang.ref.WeakReference < java.lang.ref.Reference:
java.lang.ref.SoftReference < java.lang.ref.Reference: timestamp:J
java.lang.ref.PhantomReference < java.lang.ref.Reference:
java.lang.ref.ReferenceQueue: lock head queueLength:J
java.lang.ThreadLocal$ThreadLocalMap$Entry < java.lang.ref.WeakReference: value
java.util.AbstractCollection:
java.util.AbstractList < java.util.AbstractCollection: modCount:I
java.util.ArrayList < java.util.AbstractList: elementData size:I
java.util.Vector < java.util.AbstractList: elementData elementCount:I capacityIncrement:I
java.util.AbstractSequentialList < java.util.AbstractList:
java.util.LinkedList < java.util.AbstractSequentialList: size:I first last
java.util.LinkedList$Node: item next prev
java.util.ArrayDeque < java.util.AbstractCollection: elements head:I tail:I
java.util.AbstractMap: keySet values
java.util.HashMap < java.util.AbstractMap: table entrySet size:I modCount:I threshold:I loadFactor:F
java.util.HashMap$Node: hash:I key value next
java.util.LinkedHashMap < java.util.HashMap: head tail accessOrder:Z
java.util.LinkedHashMap$Entry < java.util.HashMap$Node: before after
java.util.TreeMap < java.util.AbstractMap: comparator root size:I modCount:I entrySet navigableKeySet descendingMap
java.util.TreeMap$Entry: key value left right parent color:Z
java.util.IdentityHashMap < java.util.AbstractMap: table size:I modCount:I entrySet
java.util.WeakHashMap < java.util.AbstractMap: table size:I threshold:I loadFactor:F queue modCount:I entrySet
java.util.WeakHashMap$Entry < java.lang.ref.WeakReference: value hash:I next
java.util.AbstractSet < java.util.AbstractCollection:
java.util.HashSet < java.util.AbstractSet: map
java.util.AbstractQueue < java.util.AbstractCollection:
java.util.concurrent.ConcurrentHashMap < java.util.AbstractMap: table nextTable baseCount:J sizeCtl:I transferIndex:I cellsBusy:I counterCells keySet values entrySet
java.util.concurrent.ConcurrentHashMap$Node: hash:I key val next
java.util.concurrent.CopyOnWriteArrayList: lock array
java.util.concurrent.LinkedBlockingQueue < java.util.AbstractQueue: capacity:I count head last takeLock notEmpty putLock notFull
java.util.concurrent.LinkedBlockingQueue$Node: item next
java.util.concurrent.ConcurrentLinkedQueue < java.util.AbstractQueue: head tail
java.util.concurrent.ConcurrentLinkedQueue$Node: item next
java.util.concurrent.ArrayBlockingQueue < java.util.AbstractQueue: items takeIndex:I putIndex:I count:I lock notEmpty notFull
java.util.concurrent.atomic.AtomicInteger < java.lang.Number: value:I
java.util.concurrent.atomic.AtomicReference: value
java.util.concurrent.atomic.AtomicLong < java.lang.Number: value:J
java.util.concurrent.locks.ReentrantLock: sync
java.util.concurrent.locks.AbstractOwnableSynchronizer: exclusiveOwnerThread
java.util.concurrent.locks.AbstractQueuedSynchronizer < java.util.concurrent.locks.AbstractOwnableSynchronizer: head tail state:I
java.util.concurrent.locks.ReentrantLock$NonfairSync < java.util.concurrent.locks.AbstractQueuedSynchronizer:
java.util.concurrent.ThreadPoolExecutor: ctl workQueue mainLock workers largestPoolSize:I completedTaskCount:J threadFactory handler keepAliveTime:J allowCoreThreadTimeOut:Z corePoolSize:I maximumPoolSize:I
java.util.concurrent.ThreadPoolExecutor$Worker < java.util.concurrent.locks.AbstractQueuedSynchronizer: thread firstTask completedTasks:J this$0
java.util.concurrent.ScheduledThreadPoolExecutor < java.util.concurrent.ThreadPoolExecutor: continueExistingPeriodicTasksAfterShutdown:Z executeExistingDelayedTasksAfterShutdown:Z removeOnCancel:Z
java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue < java.util.AbstractQueue: queue lock size:I leader available
java.util.concurrent.FutureTask: state:I callable outcome runner waiters
java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask < java.util.concurrent.FutureTask: sequenceNumber:J time:J period:J outerTask heapIndex:I this$0
java.util.concurrent.Executors$RunnableAdapter: task result
java.util.concurrent.CompletableFuture: result stack
java.util.concurrent.CompletableFuture$Completion: next
java.util.concurrent.CompletableFuture$UniCompletion < java.util.concurrent.CompletableFuture$Completion: executor dep src
java.util.concurrent.CompletableFuture$UniApply < java.util.concurrent.CompletableFuture$UniCompletion: fn
java.util.Timer: queue thread threadReaper
java.util.TaskQueue: queue size:I
java.util.TimerTask: lock state:I nextExecutionTime:J period:J
java.util.TimerThread < java.lang.Thread: newTasksMayBeScheduled:Z queue
java.util.logging.LogManager: props loggerRefQueue rootLogger
java.util.logging.Level: name value:I resourceBundleName
java.lang.ApplicationShutdownHooks:
java.lang.StackTraceElement: declaringClass methodName fileName lineNumber:I
java.lang.Throwable: detailMessage cause stackTrace depth:I suppressedExceptions backtrace
java.lang.Exception < java.lang.Throwable:
java.lang.RuntimeException < java.lang.Exception:
java.util.EventObject: source
"""  # noqa: E501


class Jvm:
    """Adds objects of the JVM to a heap, with the fields that a dump has of them."""

    string_type, bytes_type = "java.lang.String", "byte[]"

    def __init__(self, heap: Heap) -> None:
        self.heap, self.null, self._texts = heap, NULL, 0
        self._plans: dict[str, tuple[list[str], list[str], int]] = {}
        for line in _JDK.strip().splitlines():
            self.declare(line)
        self._class_loader = NULL

    def declare(self, told: str) -> str:
        """Declare a class: ``Name < Above: field count:I closed:Z``."""
        head, _, listed = told.partition(":")
        name, _, above = (part.strip() for part in head.partition("<"))
        fields = {}
        for one in listed.split():
            field, _, code = one.partition(":")
            fields[field] = code or "L"
        if name != "java.lang.Object":
            above = above or "java.lang.Object"
        if above and above not in self.heap.classes:
            self.declare(above)
        self.heap.classes[name] = above, fields
        self._plans.pop(name, None)
        return name

    def _plan(self, name: str) -> tuple[list[str], list[str], int]:
        """Names of a class's references and numbers, and the size of an instance."""
        if name not in self._plans:
            if name not in self.heap.classes:
                self.declare(name)
            codes: list[tuple[str, str]] = []
            at = name
            while at:
                above, fields = self.heap.classes[at]
                codes += fields.items()
                at = above
            widths = [_WIDTHS[code] for _, code in codes]
            small = sum(width for width in widths if width < 8)
            wide = sum(widths) - small
            size = 12 + small + wide if small >= 4 or not wide else 16 + small + wide
            self._plans[name] = (
                [field for field, code in codes if code == "L"],
                [field for field, code in codes if code != "L"],
                _aligned(size),
            )
        return self._plans[name]

    def new(self, name: str, /, **values: float) -> int:
        """An instance; fields that are not given are null, 0 or false."""
        references, numbers, size = self._plan(name)
        unknown = values.keys() - {*references, *numbers}
        if unknown:
            raise ValueError(f"{name} has no {', '.join(sorted(unknown))}")
        held = [int(values.get(field, NULL)) for field in references]
        number = self.heap.add(name, size, held)
        if numbers:
            told = tuple(values.get(field, 0) for field in numbers)
            if any(told):
                self.heap.values[number] = told
        return number

    def set(self, number: int, /, **values: int) -> None:
        """Change references of an instance."""
        references, _, _ = self._plan(self.heap.types[self.heap.kinds[number]])
        for field, target in values.items():
            self.heap.held[number][references.index(field)] = target

    def numbers(self, kind: str, length: int) -> int:
        """An array of so many numbers."""
        size = _PRIMITIVE_ARRAYS[kind] * length
        number = self.heap.add(kind, _aligned(16 + size), [])
        self.heap.values[number] = bytes(size)
        return number

    def bytes(self, length: int) -> int:
        return self.numbers("byte[]", length)

    def string(self, length: int) -> int:
        """A text that no other has."""
        self._texts += 1
        at, text = self._texts, []
        while at:
            text.append(_LETTERS[at % len(_LETTERS)])
            at //= len(_LETTERS)
        whole = ("".join(text) + _LETTERS * (length // len(_LETTERS) + 1))[:length]
        return self.text(whole)

    def text(self, whole: str) -> int:
        data = whole.encode("latin-1", "replace")
        value = self.heap.add("byte[]", _aligned(16 + len(data)), [])
        self.heap.values[value] = data
        return self.new("java.lang.String", value=value)

    def long(self, value: int) -> int:
        return self.new("java.lang.Long", value=value)

    def array(self, element: str, held: Sequence[int], capacity: int = 0) -> int:
        room = max(len(held), capacity)
        filled = [*held, *[NULL] * (room - len(held))]
        return self.heap.add(element + "[]", _aligned(16 + 4 * room), filled)

    def list(self, _: str, held: Sequence[int]) -> int:
        """An ``ArrayList``, which has grown by halves."""
        room = 10
        while room < len(held):
            room += room // 2
        data = self.array("java.lang.Object", held, room)
        return self.new("java.util.ArrayList", elementData=data, size=len(held))

    def vector(self, held: Sequence[int]) -> int:
        room = 10
        while room < len(held):
            room *= 2
        data = self.array("java.lang.Object", held, room)
        return self.new("java.util.Vector", elementData=data, elementCount=len(held))

    def copied_list(self, held: Sequence[int]) -> int:
        """A ``CopyOnWriteArrayList``."""
        lock = self.new("java.lang.Object")
        array = self.array("java.lang.Object", held)
        return self.new(
            "java.util.concurrent.CopyOnWriteArrayList", lock=lock, array=array
        )

    def map(self, _: str, __: str, pairs: Sequence[tuple[int, int]]) -> int:
        return self.map_of("java.util.HashMap", pairs)

    def map_of(self, kind: str, pairs: Sequence[tuple[int, int]]) -> int:
        """A ``HashMap``, a ``LinkedHashMap`` or a class of the program below them."""
        linked, at = False, kind
        while at and not linked:
            linked, at = at == "java.util.LinkedHashMap", self.heap.classes[at][0]
        name = "java.util.LinkedHashMap$Entry" if linked else "java.util.HashMap$Node"
        nodes = [self.new(name, key=key, value=value) for key, value in pairs]
        if linked:
            for one, other in pairwise(nodes):
                self.set(one, after=other)
                self.set(other, before=one)
        table = self._table("java.util.HashMap$Node", nodes)
        made = self.new(kind, table=table, size=len(pairs), loadFactor=0.75)
        if linked and nodes:
            self.set(made, head=nodes[0], tail=nodes[-1])
        return made

    def concurrent_map(self, _: str, __: str, pairs: Sequence[tuple[int, int]]) -> int:
        name = "java.util.concurrent.ConcurrentHashMap"
        nodes = [self.new(f"{name}$Node", key=key, val=val) for key, val in pairs]
        table = self._table(f"{name}$Node", nodes)
        return self.new(name, table=table, baseCount=len(pairs))

    def _table(self, element: str, nodes: Sequence[int]) -> int:
        """Buckets of a hash table, with chains; nodes have a field ``next``."""
        room = 16
        while room * 3 // 4 < len(nodes):
            room *= 2
        buckets = [NULL] * room
        for row, node in enumerate(nodes):
            at = (row * 0x9E3779B1 >> 7) % room
            if buckets[at] != NULL:
                self.set(node, next=buckets[at])
            buckets[at] = node
        return self.array(element, buckets)

    def set_of(self, held: Sequence[int]) -> int:
        """A ``HashSet``."""
        present = self.new("java.lang.Object")
        inside = self.map("", "", [(each, present) for each in held])
        return self.new("java.util.HashSet", map=inside)

    def queue(self, _: str, held: Sequence[int]) -> int:
        """A ``LinkedBlockingQueue``."""
        name = "java.util.concurrent.LinkedBlockingQueue"
        nodes = [self.new(f"{name}$Node")]
        for each in held:
            nodes.append(self.new(f"{name}$Node", item=each))
            self.set(nodes[-2], next=nodes[-1])
        return self.new(
            name, head=nodes[0], last=nodes[-1], capacity=2**31 - 1,
            count=self.new("java.util.concurrent.atomic.AtomicInteger",
                           value=len(held)),
            takeLock=self.lock(), putLock=self.lock(),
        )  # fmt: skip

    def lock(self) -> int:
        sync = self.new("java.util.concurrent.locks.ReentrantLock$NonfairSync")
        return self.new("java.util.concurrent.locks.ReentrantLock", sync=sync)

    def closure(self, inside: str, captured: Sequence[int]) -> int:
        """A lambda."""
        names = [f"arg${row}" for row, _ in enumerate(captured, 1)]
        kind = f"{inside}$$Lambda$27/0x00000008010c4a18"
        if kind not in self.heap.classes:
            self.declare(f"{kind}: {' '.join(names)}")
        return self.new(kind, **dict(zip(names, captured, strict=True)))

    def static(self, owner: str, name: str, held: int) -> None:
        above, fields = self.heap.classes.get(owner, ("", {}))
        if not above:
            self.declare(f"{owner}: {' '.join(fields)}")
        self.heap.root(held, model.STATIC, owner, name)

    def thread(self, held: Iterable[int] = (), name: str = "", /, **values: int) -> int:
        """A thread that runs; what its stack refers to are roots."""
        thread = self.new(
            "java.lang.Thread", name=self.text(name or "main"), priority=5,
            threadStatus=401, **values,
        )  # fmt: skip
        self.heap.root(thread, model.RUNTIME)
        for each in held:
            self.heap.root(each, model.LOCAL)
        return thread

    def thread_locals(self, pairs: Sequence[tuple[int, int]]) -> int:
        """A thread's map: ``ThreadLocal`` and value."""
        name = "java.lang.ThreadLocal$ThreadLocalMap"
        entries = [
            self.new(f"{name}$Entry", referent=key, value=value) for key, value in pairs
        ]
        room = 16
        while room * 2 // 3 < len(entries):
            room *= 2
        table = self.array(f"{name}$Entry", entries, room)
        return self.new(name, table=table, size=len(entries))


def _aligned(size: int) -> int:
    return (size + 7) // 8 * 8
