"""Files are written whole, and never over another one unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.cli import main
from ingest.cli.options import write_file
from ingest.errors import IngestError
from ingest.system.files import check_writable


def test_a_file_is_written_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.html"

    write_file(file, "new\n")

    assert file.read_bytes() == b"new\n"
    assert capsys.readouterr().out == f"wrote {file}\n"
    assert file.stat().st_mode & 0o044 == 0o044
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_is_refused_early(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text("old")

    with pytest.raises(IngestError, match="--force overwrites it"):
        check_writable(file, force=False)
    check_writable(file, force=True)
    with pytest.raises(IngestError, match="no folder"):
        check_writable(tmp_path / "none" / "a.html", force=True)


@pytest.mark.parametrize("command", [["report"], ["why", "0x1"]])
def test_a_page_needs_no_server_to_be_refused(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.html"
    file.write_text("old")

    for options, code in (([], 1), (["--json"], 2), (["--json", "--force"], 2)):
        with pytest.raises(SystemExit) as exit_:
            main([*command, "--html", str(file), *options])
        assert exit_.value.code == code
        assert "--html" in (err := capsys.readouterr().err) or "--force" in err
    assert file.read_text() == "old"


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.html"
    file.write_text("old")

    def fail(_path: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(IngestError, match="No space left"):
        write_file(file, "new")

    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_one(tmp_path: Path) -> None:
    file, link = tmp_path / "a.html", tmp_path / "b.html"
    file.write_text("old")
    link.symlink_to(file)

    write_file(link, "new")

    assert link.is_symlink()
    assert file.read_text() == "new"
