"""What is known of CPython.

Types of the interpreter have no module before their names, those of modules have one.
The value of a module, class or function that holds objects is its name.
"""

from __future__ import annotations

import builtins
import sys

from ingest.runtimes.base import Runtime

_CONTAINERS = (
    "dict", "list", "tuple", "set", "frozenset", "cell", "method", "module",
    "builtin_function_or_method",
    "traceback", "mappingproxy", "dict_*", "*_iterator", "*iterator", "enumerate",
    "zip", "map", "filter", "reversed", "slice", "weakref*", "weakproxy",
    "weakcallableproxy", "super", "staticmethod", "classmethod", "property",
    "method-wrapper", "collections.*", "_collections.*", "weakref.*", "_weakref*",
    "functools.partial*", "functools._lru_*", "itertools.*", "operator.*",
    "types.SimpleNamespace", "types.MappingProxyType", "_thread._local*",
    "_threading_local.*", "threading.*", "_thread.*", "queue.*", "_queue.*",
    "contextvars.*", "_contextvars.*", "Context", "ContextVar", "Token", "hamt*",
    "concurrent.futures.*", "asyncio.*", "_asyncio.*", "TaskStepMethWrapper",
    "TaskWakeupMethWrapper", "heapq.*", "enum.*",
    "multidict.*", "_multidict.*", "frozenlist.*", "cachetools.*", "dataclasses.*",
    "sortedcontainers.*", "sortedcollections.*", "bidict.*", "blist.*", "frozendict.*",
    "expiringdict.*", "immutabledict.*", "ordered_set.*", "pyrsistent.*",
)  # fmt: skip

_VALUES = ("threading.Thread", "threading.Timer", "concurrent.futures._base.Future")
"""Objects that a program makes one by one, and that may be kept when they are done."""

_METADATA = (
    "code", "getset_descriptor", "member_descriptor", "wrapper_descriptor",
    "method_descriptor", "classmethod_descriptor",
    "builtin_method", "moduledef", "_frozen_importlib*", "importlib.*", "typing.*",
    "annotationlib.*", "EncodingMap", "PyCapsule", "_abc._abc_data", "_abc_data",
)  # fmt: skip

_INTERPRETER = (
    "function", "generator", "coroutine", "async_generator", "frame",
    "coroutine_wrapper", "async_generator_*", "NoneType", "ellipsis",
    "NotImplementedType", "stderrprinter", "symtable entry", "_grouper",
    "managedbuffer",
    "PyDBData", "Struct", "BZ2*", "LZMA*", "SQLite*", "_hashlib.*", "[?]",
    "UnionType", "types.*", "Token.MISSING",
)  # fmt: skip

_KNOWN = (
    "numpy", "pandas", "pyarrow", "polars", "scipy", "torch", "PIL", "lxml", "cython",
    "_cython*", "Cython", "pydantic", "pydantic_core", "sqlalchemy", "django",
    "greenlet", "yaml", "google._upb", "google.protobuf", "grpc", "psycopg*",
    "aiohttp", "yarl", "propcache", "werkzeug", "jinja2", "markupsafe", "flask",
    "starlette", "fastapi", "uvicorn", "gunicorn", "requests", "urllib3", "click",
    "pytest", "_pytest", "pluggy", "certifi", "attr", "attrs", "setuptools", "pip",
    "pkg_resources", "_distutils_hack", "charset_normalizer", "site",
)  # fmt: skip
"""Packages that many programs use, whose objects rarely are a leak themselves."""

_EXCEPTIONS = tuple(
    name for name, value in vars(builtins).items() if isinstance(value, type)
)

_FUNCTION = {
    "": "function {name}",
    "__closure__": "the closure of {name}",
    "__defaults__": "the default values of {name}",
    "__kwdefaults__": "the default values of {name}",
}
_CLASS = {"": "class attribute {name}.{field}"}
_COROUTINE = {"": "coroutine {name}"}
_CONTEXT = {"": "context variable {field}"}

CPYTHON = Runtime(
    name="python",
    program="a Python program",
    supertypes=("__bases__", "[]"),
    enums=("enum.EnumType", "enum.EnumMeta"),
    enum_name="_name_",
    weak="",
    weak_references=(
        "weakref", "weakref.ReferenceType", "weakref.KeyedRef", "weakref.WeakMethod",
    ),
    weak_collections=(
        "weakref.Weak*Dictionary", "_weakrefset.WeakSet",
        "_frozen_importlib._WeakValueDictionary",
    ),
    counts_references=True,
    code_places=("code", r"[/\\](?:site|dist)-packages[/\\](\w+)"),
    metadata=_METADATA,
    values=_VALUES,
    containers=_CONTAINERS,
    library=(
        *_EXCEPTIONS,
        *_INTERPRETER,
        *(f"{name}.*" for name in sorted(sys.stdlib_module_names)
          if name != "__main__"),
        *(f"{name}.*" for name in _KNOWN),
    ),
    collections={
        "dict": "dict", "list": "list", "tuple": "tuple", "set": "set",
        "frozenset": "frozenset", "collections.deque": "deque",
        "collections.OrderedDict": "OrderedDict",
        "collections.defaultdict": "defaultdict",
    },
    freed_by=(
        (
            r"^asyncio\..*Transport$",
            "wait until what is sent has been read (as drain() does), or close what "
            "does not read",
        ),
        (r"-> \w*Mock$", "take no mock, which keeps its calls (or call reset_mock())"),
    ),
    holders={
        "function": _FUNCTION,
        "type": _CLASS,
        "functools._lru_cache_wrapper": {
            "": "the cache of functools.lru_cache on {name}"
        },
        "frame": {"": "the frame of {name}"},
        "coroutine": _COROUTINE,
        "generator": {"": "generator {name}"},
        "async_generator": {"": "async generator {name}"},
        "_asyncio.Task": {"": "the task of {name}"},
        "_thread._local": {"": "a {name}"},
        "hamt_bitmap_node": _CONTEXT,
        "hamt_collision_node": _CONTEXT,
    },
    closure_field="__closure__",
    class_type="type",
    module_type="module",
    namespaces=("dict", "module"),
    weak_holders=("frame",),
    variables=(r"(?:(?:async_)?generator|coroutine|frame)$",
        r"\[|(?:ag|cr|gi)_(?:await|code|frame|origin|yieldfrom)$|f_\w+$"),
    waiting={"_asyncio.Future": (None, "")},
    traceback_type="traceback",
    root_words={
        "static": "global variable",
        "runtime": "something in C",
        "internal": "the interpreter",
    },
    patterns={
        "map": r"^dict$|^set$|^frozenset$|OrderedDict|defaultdict|Counter",
        "list": r"^list$|^tuple$",
        "queue": r"deque|\bqueue\.",
        "closure": r"^cell$",
        "event handlers": r"^method$",
        "cache": r"_lru_list_elem|_lru_cache",
    },
    wakes={
        "asyncio.locks.Event": "set()", "asyncio.locks.Condition": "notify_all()",
        "asyncio.locks.Lock": "release()", "asyncio.locks.Semaphore": "release()",
        "asyncio.locks.BoundedSemaphore": "release()",
    },
    spoken=((r"\b_?asyncio\.(?:locks\.|queues\.)?", "asyncio."),),
    awaits={"_asyncio.Task": "_fut_waiter", "asyncio.tasks.Task": "_fut_waiter"},
    results=("_result", "_exception", "NoneType"),
    timers=("asyncio.events.TimerHandle", "threading.Timer"),
    limits={
        # Its parameters are told by a function, which has them in its closure.
        "functools._lru_cache_wrapper": (
            "maxsize", "cache_parameters", "__closure__", "[0]", "cell_contents",
        ),
    },
    bounded=("cachetools.*Cache", "expiringdict.ExpiringDict"),
    limited_keys=("type", "abc.ABCMeta", "module", "function"),
    numbers=((r" at 0x[0-9a-f]+", ""),),
    inside=(r"functools\._lru_list_elem",),
)  # fmt: skip
