"""Java programs whose plug-ins have class loaders of their own."""

from __future__ import annotations

from tests.dumps.hprof import BYTE, OBJECT, Hprof, jdk

LOADER, CLASS, MAIN = 0x3000, 0x2100, 0x2000
"""Where plug-ins have their loader and class, before their own offset; the program."""


def host(statics: dict[str, int], *, version: str = "1.0.2") -> Hprof:
    """A program whose class ``Main`` is the VM's, with static fields."""
    dump = jdk(version)
    dump.cls("app/Loader", 0x2020, "java/lang/Object", {"parent": OBJECT})
    fields = {name: (OBJECT, float(value)) for name, value in statics.items()}
    dump.cls("app/Main", MAIN, "java/lang/Object", statics=fields)
    return dump


def plugin(dump: Hprof, number: int, name: str, *, loader: str = "app/Loader") -> None:
    """A class of a loader of its own, an instance, and what a static field has."""
    at = 0x1000 * number
    dump.classes.pop(name, None)
    parent = {"parent": 0x8000 + at} if loader == "app/Loader" else {}
    dump.obj(LOADER + at, loader, **parent)
    dump.numbers(0x8000 + at, BYTE, bytes(4096))
    statics = {"CACHE": (OBJECT, float(0x6000 + at))}
    statics["<resolved_references>"] = (OBJECT, float(0x7000 + at))
    dump.cls(name, CLASS + at, "java/lang/Object", statics=statics, loader=0x3000 + at)
    dump.obj(0x5000 + at, name)
    dump.obj(0x6000 + at, "java/lang/Object")
    dump.obj(0x7000 + at, "java/lang/Object")


def plugins() -> Hprof:
    """Two plug-ins, of which the program holds one, and a secret that is told twice."""
    dump = host({"HELD": 0x15000})
    for number in (0x10, 0x20):
        plugin(dump, number, "app/Plugin")
    for _ in range(2):
        dump.numbers(0x20, BYTE, b"somebody@example.com")
        dump.obj(0x40, "java/lang/String", value=0x20)
    return dump
