"""The text of ``ingest why`` about objects with many referrers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.dumps.gclog import Gclog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Ran

HANDLE, STATIC, WEAK = 3, 4, 2


def test_all_roots_are_listed_and_what_is_left_out_is_counted(
    tmp_path: Path, ingest: Callable[..., Ran]
) -> None:
    log = Gclog().domain("App.exe").type(1, "App.Hub").type(2, "App.Spoke")
    log.object(0x100, 1, 24)
    log.root(0x100, HANDLE, WEAK)
    for spoke in range(0x200, 0x20F):
        log.object(spoke, 2, 24, [0x100]).root(spoke, STATIC)
    (tmp_path / "a.gclog").write_bytes(log.close("App.exe").bytes())

    of_object = ingest("why", "0x100", "--in", str(tmp_path / "a.gclog"))[1]
    of_type = ingest("why", "Spoke", "--in", str(tmp_path / "a.gclog"))[1]

    title, _, head, _, first, *others = of_object.split("Referrers: ")[1].splitlines()
    assert title == "15 references from objects, 1 root, some of them weak"
    assert head.split()[:2] == ["held", "by"]
    assert "handle root (weak)" in " ".join(first.split())
    assert [line.split()[0] for line in others[:-1]] == ["object"] * 9
    assert others[-1] == "    … 6 more references"
    assert of_type.endswith("    … 5 more instances\n")
    assert "what its cut frees" in of_type
