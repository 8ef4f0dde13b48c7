"""What is known of V8: Node.js, Chrome, Electron, Deno."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.runtimes.base import Runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _lasting(ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Bool: ids that last. V8 follows odd ids, and makes even ones from addresses.

    Source: v8/v8, src/profiler/heap-snapshot-generator.cc, HeapObjectsMap and
    EmbedderGraphEntriesAllocator.
    """
    return (ids & np.uint64(1)).astype(np.bool_)


V8 = Runtime(
    name="v8",
    program="a program of V8",
    lasting_ids=_lasting,
    module_prefix="module ",
    scope_prefix="scope in ",
    outer_scope=("previous", "system / "),
    private_prefix="<symbol",
    # Of a page, with its address; of a worker, and of Deno. Node calls its own global.
    global_objects=((r"Window(?: \[JSGlobalObject\])? / (\S.*)", "window"),
        (r"(\S+) \[JSGlobalObject\](?: / .*)?", "globalThis")),
    called_fields=("function", "bound_function"),
    no_class=r"(?:Function|Object|Array|Map|Set|module|scope|system)\b|[^A-Za-z_$]",
    embedder=r"(?:\w+<)?(?:Basic)?Heap",
    roots=("(synthetic)",),
    waiting={
        "Promise": ("reactions_or_result", "(system)", "system / PromiseReaction"),
    },
    one_shots={"Timeout": ("_idleTimeout", "_repeat")},
    ended_by={
        "ResizeObserver": "disconnect()", "IntersectionObserver": "disconnect()",
        "MutationObserver": "disconnect()", "PerformanceObserver": "disconnect()",
        "EventSource": "close()", "BroadcastChannel": "close()",
        "MessagePort": "close()",
    },
    metadata=(
        "(system)", "(compiled code)", "(object shape)", "(symbol)", "(prototype)",
        "BuiltinModule",
        "module node:*", "module ext:*",
    ),
    links=("(system)",),
    code_texts=({"(compiled code)": "source"}, {"(sliced string)": "parent"}),
    containers=(
        "(array)", "Array", "Object", "Function", "Map", "Set", "WeakMap", "WeakSet",
        "WeakRef", "FinalizationRegistry", "* Iterator", "Promise", "Generator",
        "AsyncGenerator", "AsyncFunction", "scope in *", "system / Context*",
        "Arguments", "Proxy", "Timeout", "Immediate", "TimersList",
        "PriorityQueue", "ImmediateList", "EventEmitter", "EventTarget",
        "NodeEventTarget",
        "FixedQueue", "FixedCircularBuffer", "BufferList",
        "AsyncResource", "Module", "ModuleMap", "ModuleWrap",
        "{default}",  # by which compiled code refers to a module
        "V8EventListener", "EventListener", "JSEventHandler*", "EventTargetData",
        "RegisteredEventListener", "ScheduledAction", "DOMTimer",
        "*DOMTimerCoordinator", "V8Function", "V8VoidFunction", "V8*Callback",
        "V8EventHandlerNonNull", "NodeMutationObserverData",
        "MutationObserverRegistration", "NodeRareData", "MutationObserver::*",
        "InternalNode", "HeapHashMap*", "HeapVector*", "HeapHashTableBacking*",
        "HeapVectorBacking*", "Detached Heap*", "blink::*", "cppgc::*",
    ),
    library=(
        "(string)", "(concatenated string)", "(sliced string)", "(number)", "(bigint)",
        "(wasm object)", "RegExp", "Number", "String", "Boolean", "Symbol", "BigInt",
        "Date", "Error", "*Error", "ArrayBuffer", "SharedArrayBuffer", "DataView",
        "*Array", "Buffer", "FastBuffer", "system / *", "Node / *",
        # All of the browser but elements, documents (HTML, XML) and windows.
        "Detached [!<HXW]*", "node::*",
        "process", "console", "Console", "Math", "JSON", "Atomics", "Reflect", "Intl*",
        "AsyncLocalStorage",
        "WebAssembly*", "URL", "URLSearchParams", "Headers", "Request", "Response",
        "Socket", "Server", "IncomingMessage", "ServerResponse", "Agent", "TCP", "Pipe",
        "*Wrap", "ReadableState", "WritableState", "Readable", "Writable", "Duplex",
        "Transform", "PassThrough", "ReadStream", "WriteStream",
        "ReadableStream", "WritableStream", "TransformStream",
        "InternalReadable*Stream", "InternalWritableStream",
        "InternalTransferred*Stream", "Readable*Controller", "Writable*Controller",
        "TransformStreamDefaultController", "ReadableStream*Reader",
        "WritableStreamDefaultWriter",
    ),
    entries_fields={"table": "(array)"},
    pairs_field="table",
    roomy={
        "Array": "elements", "Object": "properties", "Map": "entries", "Set": "entries"
    },
    weak_type="WeakRef",
    ended={"Detached <": "detached from all documents"},
    records=("Object",),
    function_type="Function",
    handlers_fields=("_events", "<symbol kEvents>"),
    function_fields=r"context$|prototype$|__proto__$|bound_|native_bind_context$|[\[<]",
    # Functions of the runtime's scripts, and bound or built-in ones without a place.
    library_functions=r" (?:node|ext):|^[^:]*$",
    library_scripts=r" (?:node|ext):|/node_modules/",
    shape="{",
    listener="{callback, options",  # of Deno
    of_document=("<", "HTMLDocument"),
    # Names of properties are in a table of V8, as are others; it holds none of them.
    passing_roots=("DevTools console", "(Internalized strings)"),
    prototype_type="(prototype)",
    shape_type="(object shape)",
    timers_by_ms="TimersList",
    timers=("Timeout", "Immediate"),
    timer_calls={"Timeout": "_onTimeout", "Immediate": "_onImmediate"},
    freed_by=(
        (r" of ext:", "end the operations that are under way, such as requests"),
        (r"\.jQuery\d+ ->", "remove what jQuery keeps (with off() or removeData())"),
        (r"^the timers of the page ->",
            "cancel the timers (with clearTimeout() or clearInterval())"),
    ),
    spoken=((r"^ScriptedAnimationController$", "requestAnimationFrame"),),
    holders={
        f"{before}DOMTimerCoordinator": {"": "the timers of the page"}
        for before in ("", "blink::", "blink::(anonymous namespace)::")
    },
    root_words={"handle": "a native handle"},
    patterns={
        "timer": r"^(?:Timeout|Immediate|TimersList|DOMTimer|ScheduledAction"
            r"|V8(?:Frame|IdleRequest|FrameRequest)Callback)$",
        "event handlers": r"^(?:EventEmitter|(?:Node)?EventTarget|V8EventListener"
            r"|EventListener)$",
        "map": r"^(?:Weak)?(?:Map|Set)$",
        "list": r"^Array$",
        "closure": r"^Function$|^scope in |^system / Context",
    },
)  # fmt: skip
