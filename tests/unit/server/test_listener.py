"""Whether a process listens on a port, told by what the system lets us see of it."""

from __future__ import annotations

from unittest import mock

import psutil
import pytest

from ingest.server import process
from ingest.server.process import Listener


def test_a_process_that_is_ending_does_not_listen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "_POLL_S", 0.0)
    server = mock.Mock(spec=psutil.Process, pid=1)
    denied, gone = psutil.AccessDenied(1), psutil.NoSuchProcess(1)
    server.net_connections.side_effect = [denied, denied, gone]

    assert not Listener(server, 7687).is_open()


def test_a_process_that_its_parent_has_not_waited_for_does_not_listen() -> None:
    server = mock.Mock(spec=psutil.Process, pid=1)
    server.status.return_value = psutil.STATUS_ZOMBIE
    server.net_connections.side_effect = psutil.AccessDenied(1)

    assert not Listener(server, 7687).is_open()
