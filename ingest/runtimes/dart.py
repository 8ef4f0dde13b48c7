"""What is known of the Dart VM."""

from __future__ import annotations

from ingest.runtimes.base import Runtime

DART = Runtime(
    name="dart",
    program="a Dart program",
    owner="isolate",
    domain="isolate",
    signs=("dart:*",),
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
    patterns={
        "event handlers": r"_Closure$|ControllerSubscription|StreamController",
        "map": r"dart:.*(Map|Set)\b",
        "closure": r"^Context$",
    },
    # The VM's suffix of private names.
    numbers=((r"@\d+(?:-\d+)?", "@"),),
    inside=(r"dart:collection::_(?:Linked)?Hash(?:Map|Set)Entry",),
)  # fmt: skip
