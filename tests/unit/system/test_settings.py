from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from ingest.errors import IngestError
from ingest.system.places import places
from ingest.system.settings import Settings, builds, settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for entry in fields(Settings):
        monkeypatch.delenv(entry.metadata["variable"], raising=False)
    monkeypatch.setenv("INGEST_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "config.toml"


@pytest.mark.usefixtures("config")
def test_defaults() -> None:
    assert settings() == Settings(
        "5.26.31",
        heap_mib=None,
        page_cache_mib=None,
        maven_url="https://repo1.maven.org/maven2",
        uri=None,
        username="neo4j",
        password=None,
        database="neo4j",
    )


def test_the_file_beats_defaults_and_the_environment_beats_the_file(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text('heap_mib = 700\nuri = "bolt://file"\nusername = "ann"\n')
    monkeypatch.setenv("NEO4J_URI", "bolt://environment")
    monkeypatch.setenv("NEO4J_USERNAME", "")
    monkeypatch.setenv("INGEST_NEO4J_PAGECACHE_MIB", "300")
    found = settings()
    assert (found.heap_mib, found.page_cache_mib) == (700, 300)
    assert (found.uri, found.username) == ("bolt://environment", "ann")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("heap_mib = ", "not a TOML file"),
        ("heap = 3", "unknown key 'heap'"),
        ("[neo4j]\nuri = 'x'", "unknown key 'neo4j'"),
        ("heap_mib = '3'", "heap_mib must be a whole number"),
        ("heap_mib = true", "heap_mib must be a whole number"),
        ("heap_mib = 0", "at least 1"),
        ("uri = 3", "uri must be a string"),
        ("neo4j_version = '../../x'", "not a version"),
        ("maven_url = 'file:///etc'", "not an http"),
    ],
)
def test_a_wrong_file_is_told(config: Path, text: str, message: str) -> None:
    config.write_text(text)
    with pytest.raises(IngestError, match=message):
        settings()


def test_a_file_that_is_not_text_is_told(config: Path) -> None:
    config.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(IngestError, match="not a TOML file"):
        settings()


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("value", ["1.5", "4g", "-3"])
def test_a_wrong_number_in_the_environment_is_told(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGEST_NEO4J_HEAP_MIB", value)
    with pytest.raises(IngestError, match=r"INGEST_NEO4J_HEAP_MIB|heap_mib"):
        settings()


def test_the_password_is_not_in_the_repr() -> None:
    assert "hunter2" not in repr(Settings(password="hunter2"))


@pytest.mark.parametrize("blank", ["", "   ", "\t"])
def test_a_variable_of_blanks_is_not_set(
    config: Path, monkeypatch: pytest.MonkeyPatch, blank: str
) -> None:
    """A folder of three blanks in the current one would be made otherwise."""
    config.write_text('uri = "bolt://file"\n')
    monkeypatch.setenv("NEO4J_URI", blank)
    assert settings().uri == "bolt://file"

    set_, home = places(), config.parents[1]
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("INGEST_HOME", blank)
    found = places()
    assert found != set_
    assert all(
        path.name.strip() and blank not in path.parts
        for path in (found.cache, found.state, found.config)
    )
    monkeypatch.delenv("INGEST_HOME")
    assert found == places()


def test_builds_name_their_mappings(config: Path) -> None:
    config.write_text(
        "[[builds]]\ndumps = 'shop-{build}-*.hprof*'\nmapping = '{build}/m.txt'\n"
        "[[builds]]\ndumps = '*/web/{build}/*'\nsource_map = '/maps/{build}'\n"
    )
    shop, web = builds()
    assert settings() == Settings()

    found = shop.of_dump("a/shop-1.4-x.hprof.gz")
    assert found is not None
    assert found.mapping == str(config.parent / "1.4/m.txt")
    assert found.source_map is None
    for other in ("shop-..-x.hprof", "my-shop-1.4-x.hprof", "shop-1.4.hprof"):
        assert shop.of_dump(other) is None
    found = web.of_dump("/srv/web/77/app.heapsnapshot")
    assert found is not None
    assert (found.mapping, found.source_map) == (None, "/maps/77")


@pytest.mark.parametrize(
    "text",
    [
        "builds = 3", "[[builds]]\ndumps = '*'", "[[builds]]\nmapping = 'm'",
        "[[builds]]\ndumps = 3\nmapping = 'm'",
        "[[builds]]\ndumps = '{build}{build}'\nmapping = 'm'",
        "[[builds]]\ndumps = '*'\nmapping = 'm'\nmap = 'm'",
    ],
)  # fmt: skip
def test_wrong_builds_are_told(config: Path, text: str) -> None:
    config.write_text(text)
    with pytest.raises(
        IngestError, match=r"an entry \[\[builds\]\] needs the strings dumps"
    ):
        builds()
