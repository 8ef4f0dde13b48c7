"""Which running programs are Java virtual machines, and what they run."""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePath

import psutil

from ingest.capture.processes import (
    LOOK,
    Finder,
    RunningProgram,
    environment_of,
    has_mapped,
    user_of,
)
from ingest.errors import CaptureError

LIBRARY = "libjvm.so"
_OPENJ9 = "libj9vm"
_DISABLED = "-XX:+DisableAttachMechanism"
_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_LAUNCHERS = ("java", "javaw")
_WITH_VALUE = {
    "-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules",
    "--upgrade-module-path", "--limit-modules", "--add-exports", "--add-opens",
    "--add-reads", "--patch-module", "--enable-native-access", "--source",
}  # fmt: skip
"""Options of the launcher whose value is the next word."""


def _programs(proc: Path) -> list[RunningProgram]:
    found = []
    for pid in sorted(psutil.pids()):
        is_jvm = has_mapped(pid, LIBRARY, proc)
        if is_jvm or (is_jvm is None and _command(pid) in _LAUNCHERS):
            found.append(_target(pid))
    return found


def _of_pid(pid: int, proc: Path) -> RunningProgram:
    target = _target(pid)
    shown = f"process {pid} ({target.name})"
    is_jvm = has_mapped(pid, LIBRARY, proc)
    if is_jvm is None:
        owner = f"belongs to {target.user}" if target.user else "cannot be inspected"
        raise CaptureError(f"{shown} {owner}; run this as its user, or as root")
    if not is_jvm:
        raise CaptureError(f"{shown} is not a JVM: it has not loaded libjvm.so; {LOOK}")
    if has_mapped(pid, _OPENJ9, proc):
        raise CaptureError(
            f"{shown} runs OpenJ9, whose dumps need its own tools: "
            f"jcmd {pid} Dump.system"
        )
    environment = environment_of(pid, proc)
    words = [*_arguments(pid), *(environment.get(name, "") for name in _OPTIONS)]
    if any(_DISABLED in word for word in words):
        raise CaptureError(
            f"{shown} was started with {_DISABLED}, so it cannot be captured; start "
            "it without that option"
        )
    return target


def main_class(arguments: list[str]) -> str:
    """What the command line of a ``java`` launcher runs; empty if that is unclear."""
    rest = iter(arguments[1:])
    for word in rest:
        if word == "-jar":
            return PurePath(next(rest, "")).name
        if word in ("-m", "--module"):
            return next(rest, "").rpartition("/")[2]
        if word.startswith("--module="):
            return word.partition("=")[2].rpartition("/")[2]
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith(("-", "@")):
            return word
    return ""


def _spellings(name: str) -> set[str]:
    """How a program can be named: ``shop.Leak`` or ``Leak``; ``app.jar`` or ``app``."""
    name = name.lower()
    is_jar = name.endswith(".jar")
    return {name, name.removesuffix(".jar") if is_jar else name.rpartition(".")[2]}


def _target(pid: int) -> RunningProgram:
    arguments = _arguments(pid)
    is_launcher = bool(arguments) and PurePath(arguments[0]).name in _LAUNCHERS
    name = main_class(arguments) if is_launcher else ""
    return RunningProgram(pid, name or _command(pid), user_of(pid), _may_capture(pid))


def _may_capture(pid: int) -> bool:
    try:
        return os.geteuid() in (0, psutil.Process(pid).uids().effective)
    except psutil.Error:
        return False


def _arguments(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def _command(pid: int) -> str:
    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return "?"


JVM = Finder(
    runtime="jvm",
    unsupported=""
    if sys.platform == "linux"
    else "capturing a JVM is supported on Linux only; take a dump with the JDK "
    "instead: jcmd PID GC.heap_dump FILE.hprof",
    unknown="no JVM runs a program",
    none_runs=", and none is running",
    programs=_programs,
    of_pid=_of_pid,
    spellings=_spellings,
)
