"""Stack traces of threads: frames and traces, as an HPROF file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.readers.hprof.names import java_name

if TYPE_CHECKING:
    from ingest.readers.hprof.names import NameTable

MOST_FRAMES = 1 << 16
"""Frames of one trace that are read; HotSpot's own limit is lower."""

_NATIVE = -3


class StackTable:
    """The stack traces of a file.

    Args:
        names: Names by id.
        id_size: 4 or 8 bytes.
    """

    def __init__(self, names: NameTable, id_size: int) -> None:
        self._names = names
        self._id_size = id_size
        self._classes: dict[int, int] = {}
        self._frames: dict[int, tuple[int, int, int, int]] = {}
        self._traces: dict[int, list[int]] = {}

    def add_class(self, serial: int, name_id: int) -> None:
        """Take note of the name of a class by its serial number."""
        self._classes[serial] = name_id

    def add_frame(self, data: bytes) -> None:
        """Parse a frame record of 4 ids and 8 bytes."""
        size = self._id_size
        frame, method, _, source = (
            int.from_bytes(data[i * size : (i + 1) * size], "big") for i in range(4)
        )
        serial = int.from_bytes(data[4 * size : 4 * size + 4], "big")
        line = int.from_bytes(data[4 * size + 4 : 4 * size + 8], "big", signed=True)
        self._frames[frame] = method, source, serial, line

    def add_trace(self, data: bytes) -> None:
        """Parse a trace record: serial numbers, a count, and frames."""
        size, count = self._id_size, int.from_bytes(data[8:12], "big")
        ids = (data[at : at + size] for at in range(12, len(data) - size + 1, size))
        frames = [int.from_bytes(frame, "big") for frame in ids]
        self._traces[int.from_bytes(data[:4], "big")] = frames[:count]

    def trace(self, serial: int) -> list[str]:
        """The frames of a trace, innermost first; empty if the file has none."""
        return [self._frame(frame) for frame in self._traces.get(serial, ())]

    def _frame(self, frame: int) -> str:
        """A frame as the JVM prints it: ``app.Main.run(Main.java:12)``."""
        if frame not in self._frames:
            return f"<frame {frame:#x}>"
        method, source, serial, line = self._frames[frame]
        owner = self._names.get(self._classes.get(serial, 0))
        owner = f"<class {serial:,}>" if owner is None else java_name(owner)
        name = self._names.get(method) or f"<method {method:#x}>"
        place = self._names.get(source) or "Unknown Source"
        if line == _NATIVE:
            place = "Native Method"
        elif line > 0:
            place += f":{line}"
        return f"{owner}.{name}({place})"
