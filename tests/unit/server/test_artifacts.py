from __future__ import annotations

import errno
import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from ingest.errors import EmbeddedError
from ingest.progress import silent
from ingest.server.artifacts import Artifact, Lock, distrust, fetch, lock_for, read_lock
from ingest.system.settings import settings
from tests.locks import newer, shipped

if TYPE_CHECKING:
    from collections.abc import Iterator


class Mirror:
    """A Maven repository on loopback; counts what is asked of it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut: dict[str, int] = {}  # path -> how many answers break off half-way
        self.asked: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.removeprefix("/repo/")
                mirror.asked.append(path)
                body = mirror.files.get(path)
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if mirror.cut.get(path, 0) > 0:
                    mirror.cut[path] -= 1
                    body = body[: len(body) // 2]
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/repo"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def put(self, name: str, body: bytes, group: str = "org.made.up") -> Artifact:
        artifact = Artifact(
            group, name, "1.0", "", "jar", hashlib.sha256(body).hexdigest()
        )
        self.files[artifact.path] = body
        return artifact

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setenv("INGEST_HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    mirror = Mirror()
    monkeypatch.setenv("INGEST_MAVEN_URL", mirror.url)
    yield mirror
    mirror.close()


def _fetch(*artifacts: Artifact) -> tuple[Path, ...]:
    return fetch(Lock("1.0", artifacts), silent, maven_url=settings().maven_url)


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_jars_arrive_in_maven_layout_and_in_order(
    mirror: Mirror, tmp_path: Path
) -> None:
    artifacts = [mirror.put(f"jar{i}", os.urandom(100_000)) for i in range(20)]
    told: list[tuple[str, int, int | None]] = []
    paths = fetch(
        Lock("9.9.9", tuple(artifacts)),
        lambda *step: told.append(step),
        maven_url=mirror.url,
    )
    assert [p.read_bytes() for p in paths] == [mirror.files[a.path] for a in artifacts]
    assert paths[0] == tmp_path / "cache/maven/org/made/up/jar0/1.0/jar0-1.0.jar"
    stage = "download Neo4j 9.9.9 (once)"
    assert told == [(stage, done, 20) for done in range(21)]


def test_what_is_there_is_not_asked_for_again(mirror: Mirror) -> None:
    first, second = mirror.put("first", b"1"), mirror.put("second", b"2")
    _fetch(first)
    _fetch(first, second)
    assert sorted(mirror.asked) == [first.path, second.path]
    assert fetch(
        Lock("1.0", (first, second)), _no_progress, maven_url="http://127.0.0.1:9/"
    )


def test_a_jar_that_has_changed_is_verified_and_fetched_again(
    mirror: Mirror, tmp_path: Path
) -> None:
    first, second = mirror.put("first", b"right"), mirror.put("second", b"2")
    path, other = _fetch(first, second)
    path.write_bytes(b"righ")  # by a disk that was full
    os.utime(other, (0, 0))
    assert _fetch(first, second)[0].read_bytes() == b"right"
    # Files are fetched by several threads.
    assert sorted(mirror.asked) == [first.path, first.path, second.path]

    before = path.stat()
    path.write_bytes(b"wrong")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    _fetch(first, second)
    assert len(mirror.asked) == 3, "nothing tells that it has changed"
    distrust()
    assert _fetch(first, second)[0].read_bytes() == b"right"
    (tmp_path / "cache/maven/verified.json").write_text("[")
    _fetch(first, second)
    assert len(mirror.asked) == 4


def _no_progress(stage: str, done: int, total: int | None) -> NoReturn:
    raise AssertionError(stage)


def test_two_at_once_do_not_disturb_each_other(mirror: Mirror, tmp_path: Path) -> None:
    artifacts = [mirror.put(f"jar{i}", os.urandom(50_000)) for i in range(10)]
    with ThreadPoolExecutor(2) as pool:
        for task in [pool.submit(_fetch, *artifacts) for _ in range(2)]:
            for path, artifact in zip(task.result(), artifacts, strict=True):
                assert path.read_bytes() == mirror.files[artifact.path]
    assert len(_files(tmp_path)) == 10 + 1, "and the list of what is verified"


def test_a_wrong_checksum_leaves_nothing(mirror: Mirror, tmp_path: Path) -> None:
    artifact = mirror.put("evil", b"what the lock says")
    mirror.files[artifact.path] = b"what the mirror has"
    with pytest.raises(
        EmbeddedError, match=r"org\.made\.up:evil:1\.0: .* has the wrong checksum"
    ):
        _fetch(artifact)
    assert _files(tmp_path) == []


def test_an_absent_jar_is_told_with_its_address(mirror: Mirror, tmp_path: Path) -> None:
    artifact = mirror.put("gone", b"x")
    mirror.files.clear()
    with pytest.raises(EmbeddedError, match=r"gone-1\.0\.jar: HTTP status 404"):
        _fetch(artifact)
    assert _files(tmp_path) == []


def test_a_body_that_breaks_off_is_fetched_again(mirror: Mirror) -> None:
    artifact = mirror.put("shaky", os.urandom(400_000))
    mirror.cut[artifact.path] = 2
    (path,) = _fetch(artifact)
    assert path.read_bytes() == mirror.files[artifact.path]
    assert len(mirror.asked) == 3


def test_a_body_that_always_breaks_off_fails(mirror: Mirror, tmp_path: Path) -> None:
    artifact = mirror.put("broken", os.urandom(400_000))
    mirror.cut[artifact.path] = 99
    with pytest.raises(EmbeddedError, match="cannot be downloaded"):
        _fetch(artifact)
    assert _files(tmp_path) == []


def test_no_network_and_an_empty_cache(mirror: Mirror) -> None:
    artifact = mirror.put("far", b"x")
    with pytest.raises(EmbeddedError, match="NEO4J_URI"):
        fetch(Lock("1.0", (artifact,)), silent, maven_url="http://127.0.0.1:9/repo")


def test_a_full_disk_is_told_and_leaves_nothing(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = mirror.put("big", b"x")

    def full(descriptor: int) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ingest.system.files.os.fsync", full)
    with pytest.raises(EmbeddedError, match=r"is full: .* INGEST_HOME"):
        _fetch(artifact)
    assert _files(tmp_path) == []


def test_old_leftovers_go_and_young_ones_stay(mirror: Mirror) -> None:
    artifact = mirror.put("jar", b"x")
    (path,) = Lock("1.0", (artifact,)).paths()
    path.parent.mkdir(parents=True)
    old, young = (
        path.parent / ".jar-1.0.jar.a.part",
        path.parent / ".jar-1.0.jar.b.part",
    )
    for part in (old, young):
        part.write_bytes(b"half")
    os.utime(old, (0, 0))
    _fetch(artifact)
    assert _files(path.parent) == [".jar-1.0.jar.b.part", "jar-1.0.jar"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("groupId", "../../etc"),
        ("groupId", "org..made"),
        ("groupId", "/org"),
        ("artifactId", ".."),
        ("artifactId", "a/b"),
        ("artifactId", "a\\b"),
        ("version", "../1"),
        ("version", ""),
        ("classifier", "x/../../y"),
        ("packaging", "jar/../.."),
        ("artifactId", "a\n"),
    ],
)
def test_a_lock_cannot_name_a_file_outside_the_cache(field: str, value: str) -> None:
    row = {"groupId": "g", "artifactId": "a", "version": "1", "sha256": "0" * 64}
    assert read_lock("1", _toml(row), "lock").artifacts[0].path == "g/a/1/a-1.jar"
    with pytest.raises(EmbeddedError, match="names an invalid artifact"):
        read_lock("1", _toml(row | {field: value}), "lock")


def _toml(row: dict[str, str]) -> str:
    lines = [f"{name} = {_quoted(value)}" for name, value in row.items()]
    return "\n".join(["[[dependencies]]", *lines])


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n")
    return f'"{escaped}"'


@pytest.mark.parametrize(
    "text", ["", "not toml", "dependencies = 3", "dependencies = [3]"]
)
def test_what_is_no_lock_is_refused(text: str) -> None:
    with pytest.raises(EmbeddedError, match=r"x\.toml is not a lock file"):
        read_lock("1", text, "x.toml")


def test_a_lock_without_a_digest_is_refused() -> None:
    row = {"groupId": "g", "artifactId": "a", "version": "1", "sha256": "abc"}
    with pytest.raises(EmbeddedError, match="SHA-256"):
        read_lock("1", _toml(row), "lock")


@pytest.mark.parametrize("version", shipped().values())
def test_shipped_locks_need_no_network(version: str) -> None:
    lock = lock_for(version, _no_progress, maven_url="http://127.0.0.1:9/")
    assert len({entry.path for entry in lock.artifacts}) > 200
    assert any(entry.version == version for entry in lock.artifacts)
    assert any(entry.name == "neo4j-browser" for entry in lock.artifacts)


def test_newer_versions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"5.26": "5.26.9", "calendar": "2026.11.1"}
    monkeypatch.setattr("tests.locks.shipped", lambda: here)
    there = {"5.26.8", "5.26.9", "5.26.11", "5.26.12", "5.26.30", "2027.01.0"}

    found = newer(lambda version: version in there)

    assert found == {"5.26": "5.26.12", "calendar": "2027.01.0"}
    assert newer(lambda _: False) == {}


def test_a_version_that_is_not_there_is_told(mirror: Mirror) -> None:
    with pytest.raises(EmbeddedError, match=r"neo4j-5\.26\.999\.pom: HTTP status 404"):
        lock_for("5.26.999", silent, maven_url=mirror.url)


def _pom(group: str, name: str, version: str, dependencies: str = "") -> bytes:
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">'
        "<modelVersion>4.0.0</modelVersion>"
        f"<groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version><dependencies>{dependencies}</dependencies>"
        "</project>"
    ).encode()


def _publish(mirror: Mirror, group: str, name: str, version: str, pom: bytes) -> None:
    stem = f"{group.replace('.', '/')}/{name}/{version}/{name}-{version}"
    for suffix, body in ((".pom", pom), (".jar", f"jar of {name}".encode())):
        mirror.files[stem + suffix] = body
        digest = hashlib.sha1(body).hexdigest().encode()
        mirror.files[f"{stem}{suffix}.sha1"] = digest


def test_another_version_is_resolved_once_and_locked(
    mirror: Mirror, tmp_path: Path
) -> None:
    needs = "".join(
        f"<dependency><groupId>org.made</groupId><artifactId>{name}</artifactId>"
        f"<version>2</version><scope>{scope}</scope></dependency>"
        for name, scope in (("kernel", "compile"), ("engine", "runtime"), ("t", "test"))
    )
    _publish(
        mirror,
        "org.neo4j",
        "neo4j",
        "5.26.7",
        _pom("org.neo4j", "neo4j", "5.26.7", needs),
    )
    browser = ("org.neo4j.client", "neo4j-browser", "5.24.0")
    _publish(mirror, *browser, _pom(*browser))
    for name in ("kernel", "engine"):
        _publish(mirror, "org.made", name, "2", _pom("org.made", name, "2"))
    lock = lock_for("5.26.7", silent, maven_url=mirror.url)
    assert [entry.name for entry in lock.artifacts] == [
        "neo4j",
        "neo4j-browser",
        "kernel",
        "engine",
    ]
    assert all(path.is_file() for path in lock.paths())
    assert (tmp_path / "cache/locks/neo4j-5.26.7.lock.toml").is_file()
    mirror.files.clear()
    assert lock_for("5.26.7", _no_progress, maven_url=mirror.url) == lock
    assert fetch(lock, _no_progress, maven_url=mirror.url) == lock.paths()


def test_without_a_lock_the_repositorys_own_sum_is_held_against(
    mirror: Mirror, tmp_path: Path
) -> None:
    for group, name, version in (
        ("org.neo4j", "neo4j", "5.26.7"),
        ("org.neo4j.client", "neo4j-browser", "5.24.0"),
    ):
        _publish(mirror, group, name, version, _pom(group, name, version))
    mirror.files["org/neo4j/neo4j/5.26.7/neo4j-5.26.7.jar"] = b"something else"
    with pytest.raises(EmbeddedError, match="wrong checksum"):
        lock_for("5.26.7", silent, maven_url=mirror.url)
    assert not (tmp_path / "cache/locks").exists()
