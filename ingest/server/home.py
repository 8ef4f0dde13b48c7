"""The files of one embedded Neo4j: password, process, and which store is current.

The home is a folder below the user's state folder, one for each series of Neo4j
(``neo4j-5.26``), because an earlier series cannot open a store that a later one has
opened::

    neo4j-5.26/        mode 0700
      password         mode 0600; written once, before Neo4j reads it
      server.json      mode 0600; the process and its ports, written at each start
      server.lock      held while a command starts, stops or swaps the server
      store            name of the current data folder; ``data`` if missing
      data/            the first data folder
      data-*/          one that a bulk load has made, or is making
      dumps/           the tables of each loaded dump, see `ingest.tables.parquet`
      tmp/             temporary files of the server, removed before each start
      import/          empty: the only folder from which a query could read files
      conf/ logs/ plugins/ run/ lib/

``store`` is replaced atomically, which switches from the old data to the new.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from ingest.errors import EmbeddedError
from ingest.server.launch import LOOPBACK
from ingest.server.target import Endpoint
from ingest.system.files import write_private

_FOLDERS = ("conf", "dumps", "logs", "import", "plugins", "run", "lib", "tmp")
_FIRST = "data"
_MADE = re.compile(r"data-[0-9a-f]{8}")
_SYSTEM = ("databases/system", "transactions/system", "dbms", "server_id")


@dataclass(frozen=True, slots=True)
class State:
    """The contents of ``server.json``; ``pid`` is 0 after a stop."""

    version: str
    bolt_port: int
    http_port: int
    pid: int = 0
    ready: bool = False
    data: str = _FIRST

    def endpoint(self, password: str) -> Endpoint:
        """The endpoint of the running server."""
        return Endpoint(
            bolt_uri=f"bolt://{LOOPBACK}:{self.bolt_port}",
            http_url=f"http://{LOOPBACK}:{self.http_port}",
            username="neo4j",
            password=password,
            version=self.version,
            pid=self.pid,
        )


class Home:
    """The folder of one server.

    Attributes:
        path: The folder, which is also its ``NEO4J_HOME``.
        password_file: The file with its password.
        temporary: The folder for temporary files of its processes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.password_file = path / "password"
        self.temporary = path / "tmp"

    def make(self) -> None:
        """Make the folders, for their owner only."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        for name in _FOLDERS:
            (self.path / name).mkdir(exist_ok=True)
        self.data.mkdir(exist_ok=True)

    def clear_temporary(self) -> None:
        """Remove the temporary files of a server that does not run."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(exist_ok=True)

    @property
    def data(self) -> Path:
        """The current data folder."""
        try:
            name = (self.path / "store").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            name = _FIRST
        if name != _FIRST and not _MADE.fullmatch(name):
            raise EmbeddedError(
                f"{self.path / 'store'} does not name a data folder: write into it the "
                "name of the folder with your dumps"
            )
        return self.path / name

    def new_data(self) -> Path:
        """A new data folder, not created yet."""
        return self.path / f"data-{secrets.token_hex(4)}"

    def use_data(self, folder: Path) -> None:
        """Make ``folder`` the current data folder, atomically and durably."""
        write_private(self.path / "store", folder.name)
        handle = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(
                handle
            )  # makes the rename durable, before the old store is removed
        finally:
            os.close(handle)

    def carry_users(self, folder: Path) -> None:
        """Copy users and settings to another data folder; the server is stopped."""
        for name in _SYSTEM:
            source, target = self.data / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            elif source.exists():
                shutil.copy2(source, target)

    def sizes(self) -> tuple[int, int]:
        """Bytes of the current data folder, and of the transaction logs in it."""
        data = self.data
        return _bytes_below(data), _bytes_below(data / "transactions")

    def stale_data(self) -> list[Path]:
        """Data folders that are not the current one."""
        current = self.data
        return [
            folder
            for folder in [self.path / _FIRST, *self.path.glob("data-*")]
            if folder != current and folder.exists()
        ]

    def has_users(self) -> bool:
        """Whether Neo4j has been started in the current data folder."""
        return (self.data / "databases" / "system").exists()

    def read_password(self) -> str | None:
        """The password, if there is one."""
        try:
            return self.password_file.read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None

    def password(self) -> str:
        """The password; a new one if there is no database yet."""
        if password := self.read_password():
            return password
        if self.has_users():
            raise EmbeddedError(
                f"{self.password_file} is missing, and the database cannot be opened "
                f"without it: restore it, or move {self.path} away to start with an "
                "empty database"
            )
        # Hexadecimal, since neo4j-admin reads the file as command-line arguments.
        password = secrets.token_hex(24)
        write_private(self.password_file, password)
        return password

    def read_state(self) -> State | None:
        """The contents of ``server.json``; ``None`` if missing or invalid."""
        try:
            row = json.loads((self.path / "server.json").read_text(encoding="utf-8"))
            return State(
                version=str(row["version"]),
                bolt_port=_port(row["bolt_port"]),
                http_port=_port(row["http_port"]),
                pid=int(row["pid"]),
                ready=row["ready"] is True,
                data=str(row.get("data", _FIRST)),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write_state(self, state: State) -> None:
        """Write ``server.json``."""
        write_private(self.path / "server.json", json.dumps(asdict(state), indent=2))


def _bytes_below(folder: Path) -> int:
    """Bytes on disk of all files below a folder that a server may be changing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(place) / name).stat().st_blocks * 512
    return total


def _port(value: object) -> int:
    if type(value) is not int or not 0 < value < 65536:
        raise ValueError(value)
    return value
