from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import ingest.readers
from ingest.cli.examples import EXAMPLES
from ingest.system.settings import Settings
from tests.readme import COMMANDS, PAGES, README, regenerated
from tests.unit.test_layout import FLOORS, FORMATS, PACKAGE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_generated_parts_are_fresh(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert regenerated(text) == text, "run: make readme"
    for name in PAGES[page]:
        assert f"<!-- {name} -->" in text


MOST_BYTES = 9_000


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) <= MOST_BYTES


def test_every_command_and_every_format_is_named() -> None:
    commands, formats = (
        "\n".join(
            re.findall(r"^\| `.*", page.read_text(encoding="utf-8"), re.MULTILINE)
        )
        for page in (COMMANDS, README)
    )

    for command in {name.split()[0] for name in EXAMPLES if name}:
        assert re.search(rf"`ingest {command}\b", commands), command
    for one in ingest.readers.FORMATS:
        assert f"`{one.name}`" in formats, one.name


def test_every_setting_is_named() -> None:
    text = COMMANDS.read_text(encoding="utf-8")

    for one in fields(Settings):
        assert f"`{one.metadata['variable']}`" in text, one.name


def test_links_between_pages_lead_somewhere() -> None:
    home = README.parent
    others = [home / "CONTRIBUTING.md", home / "SECURITY.md", home / "docker/README.md"]
    for page in (*PAGES, *others, *(home / "ingest").rglob("README.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), (page, target)


def test_every_make_target_that_is_named_exists() -> None:
    pages = (README, COMMANDS, README.parent / "CONTRIBUTING.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))

    named = set(re.findall(r"(?:`|^|    )make ([a-z-]+)", text, re.MULTILINE))
    assert named <= targets
    assert {"demo", "test", "leak-report"} <= named


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_every_module_of_the_package_is_where_the_page_says(name: str) -> None:
    package = Path(__file__).parents[2]
    text = (package / name).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:ingest|cypher|docker|tests)/[\w/.-]*)`", text):
        if "NAME" not in path:
            assert (package / path).exists(), path


def test_the_map_shows_every_room_on_its_floor() -> None:
    rows = re.findall(
        r"^\| ([\d, ]+) \| (.*?) \|",
        (PACKAGE / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    shown: dict[str, int] = {}
    for floors, names in rows:
        rooms = [
            name.strip("/").replace("/", ".") for name in re.findall("`(.*?)`", names)
        ]
        numbers = [int(number) for number in floors.split(", ")]
        shown |= dict(
            zip(
                rooms,
                numbers * len(rooms) if len(numbers) == 1 else numbers,
                strict=False,
            )
        )

    shown |= dict.fromkeys(FORMATS, shown.pop("readers.FORMAT"))
    assert shown == FLOORS


def test_every_file_that_the_map_names_exists() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    text = text.replace("readers/FORMAT/", "readers/gclog/")
    for path in re.findall(r"`((?:[\w-]+/)+[\w./-]*)`", text):
        if not re.search("NAME|hprof", path):
            folder = PACKAGE.parent if path.startswith("tests/") else PACKAGE
            found = folder / path
            assert found.exists() or found.with_suffix(".py").exists(), path
