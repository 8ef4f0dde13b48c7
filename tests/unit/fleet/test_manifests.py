"""The files for Docker and Kubernetes fit the tool, as far as is known without them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import typer.main

from ingest.cli import program

if TYPE_CHECKING:
    from typer.core import TyperGroup

DOCKER = Path(__file__).parents[3] / "docker"
COMPOSE, KUBERNETES = DOCKER / "fleet.compose.yaml", DOCKER / "fleet.kubernetes.yaml"
IMAGE = "heaproots/fleet"
CLASSES = {f"org.apache.spark.deploy.{name}" for name in ("master.Master",
                                                          "worker.Worker")}  # fmt: skip


def accepted(arguments: list[str]) -> None:
    """A command line of ``ingest fleet`` has no usage error."""
    fleet = cast("TyperGroup", typer.main.get_command(program())).commands["fleet"]
    name, *rest = arguments
    with cast("Any", fleet).commands[name].make_context(name, rest):
        pass


def test_commands_in_comments_are_those_of_the_tool() -> None:
    text = COMPOSE.read_text("utf-8").replace(" \\\n#", "")
    commands = re.findall(r"run --rm driver (.*)", text)
    assert [command.split()[0] for command in commands] == ["add", "report", "graph"]
    for command in commands:
        accepted(shlex.split(command))


def test_the_image_has_what_the_extras_are_called() -> None:
    text = (DOCKER / "fleet.Dockerfile").read_text("utf-8")
    project = (DOCKER.parent / "pyproject.toml").read_text("utf-8")
    (extras,) = re.findall(r"/source\[([a-z,]+)\]", text)
    assert all(f"\n{name} = [" in project for name in extras.split(","))
    assert 'ENTRYPOINT ["ingest", "fleet"]' in text


@pytest.mark.parametrize("program", ["docker-compose", "docker"])
def test_compose_accepts_the_file(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"deployment of fleets: no {program}")
    command = [program, *(["compose"] if program == "docker" else [])]
    if subprocess.run(
        [*command, "version"], check=False, capture_output=True
    ).returncode:
        pytest.skip(f"deployment of fleets: no {program} compose")
    done = subprocess.run(
        [*command, "-f", str(COMPOSE), "config"],
        env=os.environ | {"NEO4J_PASSWORD": "only-for-tests"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for service in ("driver:", "master:", "neo4j:", "s3:", "worker:"):
        assert f"  {service}\n" in done.stdout
    assert (
        set(re.findall(r"org\.apache\.spark\.deploy\.[\w.]+", done.stdout)) >= CLASSES
    )


def test_the_manifest_is_whole() -> None:
    yaml = pytest.importorskip(
        "yaml", reason="Kubernetes: no PyYAML (make test-fleet installs it)"
    )
    found = list(yaml.safe_load_all(KUBERNETES.read_text("utf-8")))
    kinds = [(one["kind"], one["metadata"]["name"]) for one in found if one]
    assert kinds == [
        ("PersistentVolumeClaim", "fleet"),
        ("Service", "spark-master"),
        ("Deployment", "spark-master"),
        ("Deployment", "spark-worker"),
        ("Deployment", "shop"),
        ("Job", "fleet-add"),
    ]
    claims = {name for kind, name in kinds if kind == "PersistentVolumeClaim"}
    for one in found[2:]:
        spec = one["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in spec.get("volumes", ())}
        kept = [v for v in spec.get("volumes", ()) if "emptyDir" not in v]
        assert {v["persistentVolumeClaim"]["claimName"] for v in kept} <= claims
        *_, container = spec["containers"]  # of this tool, after the program's
        assert container["image"] == IMAGE
        assert {m["name"] for m in container.get("volumeMounts", ())} == volumes
        if one["kind"] == "Job":
            accepted(container["args"])
        else:
            called, name, *rest = container["command"]
            if called == "ingest":
                watch = cast("Any", typer.main.get_command(program())).commands[name]
                with watch.make_context(name, rest):
                    pass
            else:
                assert (called, name in CLASSES) == ("spark-class", True)
            labels = one["spec"]["template"]["metadata"]["labels"]
            assert one["spec"]["selector"]["matchLabels"] == labels
    assert found[1]["spec"]["selector"] == found[2]["spec"]["selector"]["matchLabels"]
