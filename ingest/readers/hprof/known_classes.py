"""Classes of which instances tell more than their references: values and states."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

from ingest.readers.hprof.records import (
    BITMAP,
    BOOL,
    CHAR,
    DESTROYED,
    DIRECT_BUFFER,
    ENDS_WITH,
    FLOAT4,
    FLOAT8,
    LIMIT,
    LIMIT_4,
    SIGNED,
    SIGNED_1,
    SIGNED_2,
    SIGNED_4,
    TEXT,
    THREAD,
    UNMANAGED,
)

_STATE_OF_MODEL = "androidx.lifecycle.viewmodel.internal.ViewModelImpl"
"""Has the flag of a view model since androidx.lifecycle 2.8."""

_OF_CAFFEINE = tuple(
    f"com.github.benmanes.caffeine.cache.{''.join(features)}"
    for features in product("SW", "IS", ("", "L"), ("", "S"), "M", "SW")
)
"""Caches of Caffeine with a maximum: by strong or weak keys, strong or other values, a
listener, statistics, and what the maximum is of."""

VALUES = {
    "java.lang.String": (TEXT, ("value", "coder", "offset", "count")),
    "java.lang.Integer": (SIGNED_4, ("value",)),
    "java.lang.Long": (SIGNED, ("value",)),
    "java.lang.Short": (SIGNED_2, ("value",)),
    "java.lang.Byte": (SIGNED_1, ("value",)),
    "java.lang.Character": (CHAR, ("value",)),
    "java.lang.Boolean": (BOOL, ("value",)),
    "java.lang.Float": (FLOAT4, ("value",)),
    "java.lang.Double": (FLOAT8, ("value",)),
    "java.lang.Thread": (THREAD, ("name",)),
    "java.nio.DirectByteBuffer": (DIRECT_BUFFER, ("cleaner", "", "capacity")),
    "android.graphics.Bitmap": (BITMAP, ("mBuffer", "", "mWidth", "mHeight")),
    "android.app.Activity": (DESTROYED, ("mDestroyed",)),
    "androidx.lifecycle.ViewModel": (DESTROYED, ("mCleared",)),
    _STATE_OF_MODEL: (DESTROYED, ("isCleared",)),
    **dict.fromkeys(
        (
            "android.app.Fragment", "android.support.v4.app.Fragment",
            "androidx.fragment.app.Fragment",
        ),
        (UNMANAGED, ("mFragmentManager", "mCalled")),
    ),
    "com.google.common.cache.LocalCache": (LIMIT, ("maxWeight",)),
    **dict.fromkeys(_OF_CAFFEINE, (SIGNED, ("maximum",))),
    **dict.fromkeys(
        (
            "android.util.LruCache", "android.support.v4.util.LruCache",
            "androidx.collection.LruCache",
        ),
        (LIMIT_4, ("maxSize",)),
    ),
}  # fmt: skip
"""Classes whose instances have a value, and the fields with that value."""

ENDING = {
    "mDestroyed": "destroyed", "mFragmentManager": "destroyed",
    "mCleared": "cleared", "isCleared": "cleared", "impl": "cleared",
}  # fmt: skip
"""What instances of these classes are once their work is done, by the first field."""

INHERITED = (SIGNED, THREAD, DESTROYED, ENDS_WITH, UNMANAGED, LIMIT_4)
"""What instances of subclasses tell, too."""

STATE_FIELDS = {
    name: fields for name, (kind, fields) in VALUES.items()
    if kind in (DESTROYED, UNMANAGED)
}  # fmt: skip
"""Fields that tell whether an object's work is done, by class."""

VIEW = ("att", "", "capacity", "fd")
"""Fields of a direct buffer that tell which buffer it is a view of, and which file is
mapped there, since JDK 7. On Android they tell what frees its memory; buffers without
it are in the heap."""
OF_ANDROID = ("memoryRef",)

END_FIELD = re.compile(r"(?:m|is)?_?(closed|destroyed|disposed|finished)", re.I)


@cache
def end_word(field: str) -> str:
    """The word of a field that is true once an object's work is done; else empty."""
    found = END_FIELD.fullmatch(field)
    return found[1].lower() if found else ""
