"""A Spark cluster without Docker: a master and two workers, as processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_READY_S = 90
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass
class Cluster:
    """One that runs.

    Attributes:
        address: For ``--master``.
        processes: The master, then the workers.
    """

    address: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)


@contextmanager
def spark_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a master and two workers of one core each; they end with the block.

    Args:
        folder: Where their logs and files go.
    """
    options = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    cluster = Cluster("", [_started(folder, "master", _MASTER, *options)])
    try:
        found = _wait_for(folder, "master", r"Starting Spark master at (spark://\S+)")
        cluster.address = found[1]
        options = ("--cores", "1", "--memory", "1g", "--host", "127.0.0.1")
        for name in ("one", "two"):
            cluster.processes.append(
                _started(folder, name, _WORKER, *options, "--webui-port", "0", found[1])
            )
        for name in ("one", "two"):
            _wait_for(folder, name, "Successfully registered with master")
        yield cluster
    finally:
        for process in cluster.processes:
            process.terminate()
        for process in cluster.processes:
            process.wait(timeout=30)


def _started(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_NO_DAEMONIZE": "1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )


def _wait_for(folder: Path, name: str, pattern: str) -> re.Match[str]:
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        if found := re.search(pattern, (folder / f"{name}.log").read_text("utf-8")):
            return found
        time.sleep(0.2)
    text = (folder / f"{name}.log").read_text("utf-8")
    raise TimeoutError(f"{name} did not start: {text[-2000:]}")
