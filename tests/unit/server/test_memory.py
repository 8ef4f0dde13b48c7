from __future__ import annotations

from pathlib import Path

import pytest

from ingest.errors import EmbeddedError
from ingest.server.launch import Memory, fit, total_mib
from ingest.system.memory import cgroup_limit


@pytest.mark.parametrize("total", [640, 700, 1024, 1600, 4096, 16384, 262144])
def test_never_more_than_half_and_within_bounds(total: int) -> None:
    memory = fit(None, None, total_mib=total)
    assert memory.heap_mib + memory.page_cache_mib <= total // 2
    assert 256 <= memory.heap_mib <= 8192
    assert 64 <= memory.page_cache_mib <= 16384


def test_a_fifth_each_on_a_usual_machine() -> None:
    assert fit(None, None, total_mib=20000) == Memory(4000, 4000)


def test_a_big_machine_is_not_eaten() -> None:
    assert fit(None, None, total_mib=1 << 20) == Memory(8192, 16384)


def test_a_tiny_machine_is_refused_with_a_way_out() -> None:
    with pytest.raises(EmbeddedError, match="NEO4J_URI"):
        fit(None, None, total_mib=639)
    assert fit(128, 32, total_mib=400) == Memory(128, 32)


def test_what_is_set_is_kept_and_the_rest_gives_way() -> None:
    assert fit(9000, None, total_mib=20000) == Memory(9000, 1000)
    assert fit(None, 9000, total_mib=20000) == Memory(1000, 9000)
    assert fit(12000, None, total_mib=20000) == Memory(12000, 64)


def test_more_than_the_machine_has_is_refused() -> None:
    fit(600, 400, total_mib=1000)
    with pytest.raises(EmbeddedError, match="601 MiB and a page cache of 400 MiB"):
        fit(601, 400, total_mib=1000)


def _limit(root: Path, folder: str, name: str, text: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / name).write_text(text)


def test_the_least_cgroup_v2_limit_above_us_counts(tmp_path: Path) -> None:
    membership = tmp_path / "self"
    membership.write_text("0::/slice/job\n")
    root = tmp_path / "fs"
    _limit(root, "slice/job", "memory.max", "max\n")
    assert cgroup_limit(root, membership) is None
    _limit(root, "slice", "memory.max", "1000\n")
    _limit(root, "slice/other", "memory.max", "10\n")
    assert cgroup_limit(root, membership) == 1000
    _limit(root, "slice/job", "memory.max", "900\n")
    assert cgroup_limit(root, membership) == 900
    _limit(root, "slice", "memory.max", "800\n")
    assert cgroup_limit(root, membership) == 800


def test_a_container_sees_its_limit_at_the_root(tmp_path: Path) -> None:
    membership = tmp_path / "self"
    membership.write_text("0::/../../host/path\n")
    _limit(tmp_path / "fs", ".", "memory.max", "777\n")
    assert cgroup_limit(tmp_path / "fs", membership) == 777


def test_cgroup_v1(tmp_path: Path) -> None:
    membership = tmp_path / "self"
    membership.write_text("12:cpu,cpuacct:/x\n5:memory:/docker/abc\n0::/\n")
    _limit(tmp_path, "memory/docker/abc", "memory.limit_in_bytes", "5000\n")
    assert cgroup_limit(tmp_path, membership) == 5000


def test_no_cgroups(tmp_path: Path) -> None:
    assert cgroup_limit(tmp_path, tmp_path / "absent") is None


def test_a_limit_lowers_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.server.launch.cgroup_limit", lambda: 700 << 20)
    assert total_mib() == 700
    monkeypatch.setattr("ingest.server.launch.cgroup_limit", lambda: 1 << 62)
    assert total_mib() < 1 << 40
