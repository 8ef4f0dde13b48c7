"""The objects that the Dart VM and its library make for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers import model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.answers.model import Heap

_FIELDS = {
    "dart:core::_List": ("type_arguments_", "length_"),
    "dart:core::_GrowableList": ("type_arguments_", "length_", "data_"),
    "dart:_compact_hash::_Map": (
        "type_arguments_", "hash_mask_", "data_", "used_data_", "index_",
    ),
    "dart:_compact_hash::_Set": (
        "type_arguments_", "hash_mask_", "data_", "used_data_", "index_",
    ),
    "dart:core::_Closure": ("function_", "context_"),
    "Context": ("parent_",),
    "dart:async::_Timer": ("_callback", "_wakeupTime"),
    "dart:isolate::_TimerHeap": ("_list",),
    "dart:collection::_DoubleLinkedQueueElement": ("_previous", "_next", "element"),
    "dart:collection::DoubleLinkedQueue": ("_sentinel",),
    "dart:async::_BroadcastSubscription": (
        "_onData", "_state", "_controller", "_next", "_previous",
    ),
    "dart:async::_AsyncBroadcastStreamController": (
        "_firstSubscription", "_lastSubscription",
    ),
    "Function": ("name_", "owner_", "code_"),
    "Code": ("object_pool_", "instructions_"),
    "Script": ("url_", "source_"),
}  # fmt: skip
NULL = -1


class Dart:
    """Adds objects of the VM to a heap; 0 in ``held`` of a snapshot is no reference."""

    string_type, bytes_type = (
        "dart:core::_OneByteString",
        "dart:typed_data::_Uint8List",
    )

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        heap.fields.update(_FIELDS)
        self.null = heap.add("dart:core::Null", 0)
        self._function = self.object("Function", [self.null] * 3, 64)

    def generic(self, name: str, *_: str) -> str:
        """Dart's classes do not say what they contain."""
        return name

    def type(self, name: str, fields: Sequence[str] = ()) -> str:
        self.heap.fields[name] = tuple(fields)
        return name

    def nested(self, outer: str, name: str) -> str:
        return f"{outer}{name}"

    def object(self, name: str, held: Iterable[int] = (), extra: int = 8) -> int:
        targets = list(held)
        return self.heap.add(name, 8 + 4 * len(targets) + extra, targets)

    def string(self, length: int) -> int:
        return self.heap.add(self.string_type, (16 + length + 7) // 8 * 8)

    def bytes(self, length: int) -> int:
        return self.heap.add(self.bytes_type, (16 + length + 7) // 8 * 8)

    def array(self, _: str, held: Sequence[int], capacity: int = 0) -> int:
        room = max(len(held), capacity)
        return self.heap.add(
            "dart:core::_List", 16 + 4 * room, [self.null, self.null, *held]
        )

    def list(self, element: str, held: Sequence[int]) -> int:
        data = self.array(element, held, 1 << max(2, (len(held) - 1).bit_length()))
        return self._of("dart:core::_GrowableList", 2, [data])

    def map(self, key: str, value: str, pairs: Sequence[tuple[int, int]]) -> int:
        return self._hashed("_Map", [each for pair in pairs for each in pair])

    concurrent_map = map

    def set(self, element: str, held: Sequence[int]) -> int:
        return self._hashed("_Set", held)

    def _hashed(self, name: str, held: Sequence[int]) -> int:
        data = self.array("", held, 1 << max(3, (len(held) - 1).bit_length()))
        index = self.heap.add("dart:typed_data::_Uint32List", 16 + 4 * len(held))
        held = [self.null, self.null, data, self.null, index]
        return self.object(f"dart:_compact_hash::{name}", held)

    def queue(self, element: str, held: Sequence[int]) -> int:
        table = self.array(element, held, 1 << max(3, (len(held) - 1).bit_length()))
        self.type("dart:collection::ListQueue", ("_table",))
        return self.object("dart:collection::ListQueue", [table], 24)

    def linked_list(self, element: str, held: Sequence[int]) -> int:
        heap, name = self.heap, "dart:collection::_DoubleLinkedQueueElement"
        nodes = [self.object(name, [self.null, self.null, each]) for each in held]
        for row, node in enumerate(nodes):
            heap.held[node][:2] = [nodes[row - 1], nodes[(row + 1) % len(nodes)]]
        return self.object("dart:collection::DoubleLinkedQueue", nodes[:1])

    def delegate(self, target: int, name: str = "") -> int:
        """A closure that captures one object."""
        context = self.object("Context", [self.null, target], 16)
        return self.object("dart:core::_Closure", [self._function, context], 16)

    def event(self, targets: Sequence[int], name: str = "") -> int:
        """A broadcast stream with a subscription for each."""
        heap = self.heap
        head = self.object("dart:async::_AsyncBroadcastStreamController", [], 32)
        subscriptions = [
            self.object(
                "dart:async::_BroadcastSubscription",
                [self.delegate(target), self.null, head, self.null, self.null],
                24,
            )
            for target in targets
        ]
        last = len(subscriptions) - 1
        for row, each in enumerate(subscriptions):
            heap.held[each][3] = subscriptions[row + 1] if row < last else head
            heap.held[each][4] = subscriptions[row - 1] if row else head
        heap.held[head] = [subscriptions[0], subscriptions[-1]]
        return head

    def closure(self, inside: str, captured: Sequence[int]) -> int:
        context = self.object("Context", [self.null, *captured], 16)
        return self.object("dart:core::_Closure", [self._function, context], 16)

    def timers(self, callbacks: Sequence[int]) -> None:
        timers = [
            self.object("dart:async::_Timer", [self.delegate(each), self.null], 24)
            for each in callbacks
        ]
        heap = self.object("dart:isolate::_TimerHeap", [self.array("", timers)], 8)
        self.static("dart:async::_Timer", "_heap", heap)

    def static(self, owner: str, name: str, held: int) -> None:
        self.heap.root(held, model.STATIC, owner, name)
        self.heap.type(owner)

    def thread(self, held: Sequence[int] = ()) -> int:
        """What the isolate's stack refers to are roots."""
        for each in held:
            self.heap.root(each, model.LOCAL)
        return self.null

    def _of(self, name: str, nulls: int, held: Sequence[int]) -> int:
        return self.object(name, [self.null] * nulls + list(held))
