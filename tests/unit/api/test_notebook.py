"""The notebook beside the documentation runs, and shows what it promises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ingest.api
from ingest.readers.gclog.example import example_gclog

NOTEBOOK = Path(ingest.api.__file__).with_name("notebook.ipynb")


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_notebook_runs(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()

    shown: list[Any] = [
        output for cell in notebook.cells for output in cell.get("outputs", ())
    ]
    pages = [
        one.data["text/html"] for one in shown if "text/html" in one.get("data", {})
    ]
    assert sum(page.startswith("<iframe") for page in pages) == 3
    assert "GameEvents" in "".join(pages)
    texts = [one["data"].get("text/plain", "") for one in shown if "data" in one]
    assert any("Freed by all" in text for text in texts)


def test_examples_of_the_page_run(example: Path) -> None:
    """All Python of the documentation but what needs a program or a server."""
    for levels in (8, 24):  # as the commands above them in the README do
        text = example_gclog(levels)
        (example / f"level{levels}.gclog").write_text(text, encoding="utf-8")
    pages = [NOTEBOOK.with_name("README.md"), NOTEBOOK.parents[2] / "README.md"]
    ran = 0
    for page in pages:
        names: dict[str, Any] = {}
        for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S):
            if "(heaproots)" not in block and "ingest.connect" not in block:
                exec(compile(block, str(page), "exec"), names)
                ran += 1
    assert ran == 3
    assert (example / "tables" / "README.md").exists()
