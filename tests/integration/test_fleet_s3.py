"""Dumps in an object store: a real S3 server, and one that is throttled and fails."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import polars as pl
import pytest

from ingest.errors import IngestError
from ingest.fleet.add import Workers, add
from ingest.fleet.sources import LabelPattern, find_sources, local_copy
from ingest.heap.read_options import DEFAULTS
from tests.dumps.fleet import LABELS, write_fleet
from tests.unit.fleet.test_fleet import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ingest.fleet.sources import FleetSource

_WHY = "fleets in S3: no moto or s3fs (make test-fleet installs them)"
pytest.importorskip("s3fs", reason=_WHY)
moto_server = pytest.importorskip("moto.server", reason=_WHY)

SIZE = 12
_BUSY = b"<Error><Code>SlowDown</Code><Message>reduce your rate</Message></Error>"
_FAILED = b"<Error><Code>InternalError</Code><Message>try again</Message></Error>"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    started = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    started.start()
    host, port = started.get_host_and_port()
    yield f"http://{host}:{port}"
    started.stop()


@pytest.fixture(scope="module")
def files(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps, which are in the bucket ``dumps`` too."""
    import boto3

    folder = tmp_path_factory.mktemp("s3") / "in"
    client = boto3.client(
        "s3",
        endpoint_url=server,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    client.create_bucket(Bucket="dumps")
    for path in write_fleet(folder, SIZE, live=20):
        client.upload_file(str(path), "dumps", f"eu/{path.relative_to(folder)}")
    client.put_object(Bucket="dumps", Key="eu/notes.md", Body=b"no dump")
    return folder


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a server the one that addresses are of, for workers too."""

    def chosen(address: str) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()

    return chosen


def sources(address: str = "s3://dumps/eu/") -> list[FleetSource]:
    return find_sources([address], LabelPattern(LABELS))


def by_digest(target: Path) -> dict[str, pl.DataFrame]:
    """All rows, without where the files were."""
    different = ["source", "source_version", "source_bytes"]
    return {
        name: frame.drop(different, strict=False)
        for name, frame in tables(target).items()
    }


@contextmanager
def troubled(server: str, failures: int, never: str = "\0") -> Iterator[str]:
    """A server before the real one: the first requests for each object fail by turns.

    Args:
        server: The real one.
        failures: How many requests for an object fail.
        never: Part of the path of objects for which all fail.
    """
    seen: Counter[str] = Counter()
    host = server.removeprefix("http://")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        def do_HEAD(self) -> None:
            self.answer()

        def log_message(self, format: str, *args: object) -> None:
            pass

        def answer(self) -> None:
            name = self.path.partition("?")[0]
            seen[name] += 1
            is_object = name.endswith(".gclog")
            if is_object and (seen[name] <= failures or never in name):
                busy = seen[name] % 2
                self.reply(503 if busy else 500, {}, _BUSY if busy else _FAILED)
                return
            upstream = http.client.HTTPConnection(host, timeout=30)
            upstream.request(self.command, self.path, headers=dict(self.headers))
            found = upstream.getresponse()
            self.reply(found.status, dict(found.getheaders()), found.read())
            upstream.close()

        def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in ("transfer-encoding", "connection", "server",
                                        "date"):  # fmt: skip
                    self.send_header(name, value)
            if not any(name.lower() == "content-length" for name in headers):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    started = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=started.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{started.server_port}"
    finally:
        started.shutdown()
        started.server_close()
        thread.join()


def test_a_bucket_becomes_the_same_tables_as_a_folder(
    server: str, files: Path, tmp_path: Path, use: Callable[[str], None]
) -> None:
    use(server)
    found = sources()
    assert len(found) == SIZE
    assert found[0].address.startswith("s3://dumps/eu/auth/1.0/host")
    assert found[0].labels["service"] == "auth"
    assert len(sources("s3://dumps/eu/maps/*/*.gclog")) == SIZE // 4
    result = add(found, tmp_path / "remote", DEFAULTS, Workers(processes=2))
    assert (result.added_count, result.failures) == (SIZE, [])
    local = find_sources([str(files)], LabelPattern(LABELS))
    add(local, tmp_path / "local", DEFAULTS, Workers(processes=2))
    known = by_digest(tmp_path / "local")
    for name, frame in by_digest(tmp_path / "remote").items():
        assert frame.equals(known[name]), name
    again = add(sources(), tmp_path / "remote", DEFAULTS, Workers())
    assert (again.added_count, again.skipped_count) == (0, SIZE)
    assert not [*(tmp_path / "remote" / "_work").rglob("*.gclog")]


def test_a_busy_store_is_asked_again(
    server: str, files: Path, tmp_path: Path, use: Callable[[str], None]
) -> None:
    with troubled(server, failures=3, never="/mail/2.0/") as address:
        use(address)
        found = sources()
        result = add(found, tmp_path / "fleet", DEFAULTS, Workers(processes=2))
    (failed,) = result.failures
    assert "/mail/2.0/" in failed[0]
    assert result.added_count == SIZE - 1
    use(server)
    mended = add(sources(), tmp_path / "fleet", DEFAULTS, Workers(), retry_failed=True)
    assert (mended.added_count, mended.skipped_count) == (1, SIZE - 1)
    assert tables(tmp_path / "fleet")["dumps"]["state"].unique().to_list() == ["ready"]


def test_what_is_not_there_or_was_exchanged_is_one_line(
    server: str, files: Path, tmp_path: Path, use: Callable[[str], None]
) -> None:
    use(server)
    for address in ("s3://dumps/none/x.gclog", "s3://nobody/"):
        with pytest.raises(IngestError, match=r"no such|cannot be"):
            sources(address)
    shorter = replace(sources()[0], size_bytes=7)
    with pytest.raises(OSError, match="has changed"), local_copy(shorter, tmp_path):
        pass
