"""Tensors of PyTorch in dumps, where a Python has it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.pythons import minors_by_path
from tests.unit.capture.test_heaproots_dump import ROOT, Truth, dump_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.deep


def test_each_storage_is_held_by_its_tensors(tmp_path: Path) -> None:
    path = tmp_path / "tensors.hrpy"
    python = _with_pytorch()
    subprocess.run(
        [python, ROOT / "tests/programs/tensors.py", "fork", path], check=True
    )
    truth = Truth(graph := dump_of(path))
    history = truth.fields(truth.fields(truth.variable("__main__.TRAINER"))["history"])
    storages = [truth.fields(at)["storage"] for at in history.values()]
    weight, bias = truth.of_type("torch.nn.parameter.Parameter")

    assert len(storages) == 40
    assert len(set(storages)) == 20
    assert graph.external is not None
    bytes_of = dict(
        zip(
            graph.external.object_index.tolist(),
            graph.external.size_bytes.tolist(),
            strict=True,
        )
    )
    assert [bytes_of.pop(at) for at in set(storages)] == [4 << 18] * 20
    for at in (weight, bias):
        gradient = truth.fields(at)["grad"]
        own, of_gradient = (truth.fields(one)["storage"] for one in (at, gradient))
        assert bytes_of.pop(own) == bytes_of.pop(of_gradient)
    assert (
        bytes_of.pop(truth.fields(truth.variable("__main__.LOUD"))["storage"]) == 4000
    )
    assert set(graph.external.names) == {"tensors on cpu"}
    for name in ("SHARED", "META"):  # what numpy has, and none
        storage = truth.fields(truth.variable(f"__main__.{name}"))["storage"]
        assert storage not in bytes_of
    assert "storage" not in truth.fields(truth.variable("__main__.SPARSE"))


def _with_pytorch() -> str:
    """A Python that has it; ``INGEST_TEST_PYTHONS`` may name one."""
    for path in map(str, minors_by_path()):
        asked = [path, "-c", "import torch"]
        if not subprocess.run(asked, capture_output=True, check=False).returncode:
            return path
    pytest.skip("tensors: no Python here has PyTorch")
