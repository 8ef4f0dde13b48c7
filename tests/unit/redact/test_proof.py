"""Proofs of redacted copies, and what they find in copies that are not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ingest.progress import silent
from ingest.redact.names import secrets_in
from ingest.redact.proof import prove
from ingest.redact.secrets import left_in
from tests.dumps import dartheap, gclog, hprof, hrpy, v8
from tests.unit.redact.heaps import SECRET, redacted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran


def _java() -> bytes:
    dump = hprof.program()
    dump.numbers(0x20000, hprof.BYTE, f"token {SECRET} of a@b.example".encode())
    dump.numbers(0x20100, hprof.CHAR, "4111 1111 1111 1111".encode("utf-16-be"))
    return dump.bytes()


def _node() -> bytes:
    heap = v8.program()
    heap.edge(4, "property", "more", heap.node("string", f"a {SECRET}", 16))
    return heap.bytes()


DUMPS = {
    "hprof": _java(), "v8": _node(), "dart": dartheap.program().bytes(),
    "hrpy": hrpy.program().texts([0x999], [SECRET]).bytes(),
    "gclog": gclog.large_gclog(200, 400),
}  # fmt: skip


@pytest.mark.parametrize("name", DUMPS)
def test_a_copy_is_proved(
    name: str, tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    dump, copy, page = tmp_path / "dump", tmp_path / "copy", tmp_path / "page.html"
    dump.write_bytes(DUMPS[name])

    code, out, _ = ingest(
        "redact",
        str(dump),
        str(copy),
        "--prove",
        str(page),
        "--secret",
        SECRET,
        "--json",
    )

    told = json.loads(out)
    assert (code, told["proved"]) == (0, True)
    checks = {check["what"]: check["of_dump"] for check in told["checks"]}
    if name in ("hprof", "v8", "hrpy"):
        assert checks["given secrets"] == "1 of 1"
        assert int(checks["texts that look like secrets"]) >= 1
    text = page.read_text()
    assert "the heap is the same" in text
    assert SECRET not in text


def test_a_copy_with_a_secret_or_another_heap_is_not_proved(tmp_path: Path) -> None:
    _, made = redacted(DUMPS["hprof"], tmp_path)
    dump, copy = str(tmp_path / "dump"), tmp_path / "copy"
    copy.write_bytes(DUMPS["hprof"])
    proof = prove(dump, copy, made, [SECRET], silent)
    assert [check.holds for check in proof.checks[:2]] == [False, False]
    assert set(proof.left) >= {SECRET, "a@b.example", "4111 1111 1111 1111"}

    other = hprof.program()
    other.obj(0x30000, "app/Page", next=0x10000)
    copy.write_bytes(other.bytes())
    proof = prove(dump, copy, made, [], silent)
    assert not proof.holds
    assert not next(c for c in proof.checks if c.what == "objects").holds


def test_the_command_ends_with_a_code_of_its_own(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    dump, copy, page = tmp_path / "dump", tmp_path / "copy", tmp_path / "page.html"
    heap = hprof.program()
    heap.cls("app/mail@shop.example", 0x9000, "java/lang/Object")
    dump.write_bytes(heap.bytes())

    code, out, _ = ingest("redact", str(dump), str(copy), "--prove", str(page))

    assert code == 22
    assert "Not proved" in out
    assert "NO" in page.read_text()


@pytest.mark.parametrize("text", [
    "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB", "AKIAIOSFODNN7EXAMPLE",
    "somebody@mail.example.com", "4111111111111111", "5500-0000-0000-0004",
    "postgres://app:hunter22@", "password=correct-horse", "Bearer abcdefghijklmnop1234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
])  # fmt: skip
def test_secrets_are_recognised(text: str) -> None:
    assert secrets_in(f"x {text} y".encode())


@pytest.mark.parametrize("text", [
    "4111111111111112", "1234567890123456", "java.util.HashMap$Node", "Foo@1f2e3d",
    "the password of a user", "0000000000000000", "node:internal/errors",
])  # fmt: skip
def test_other_texts_are_not(text: str) -> None:
    assert not secrets_in(f"x {text} y".encode())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("place", [0, 1, (4 << 20) - 8, (4 << 20) + 65530, 5 << 20])
def test_each_byte_of_a_file_is_searched(
    encoding: str, place: int, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    secret = SECRET.encode(encoding)
    file.write_bytes(bytes(place) + secret + bytes(9))
    wanted = [SECRET.encode(), b"another one"]

    assert left_in(str(file), wanted, silent) == {SECRET.encode()}
    file.write_bytes(bytes(place) + secret[:-2] + bytes(9))
    assert not left_in(str(file), wanted, silent)
