"""A Python program with tensors of PyTorch.

python tensors.py MODE PATH
"""

import gc
import sys

import numpy
import torch

sys.path.insert(0, __file__.rsplit("tests", 1)[0] + "ingest/capture/python")

from heaproots_dump import dump

RAN = []


class Loud(torch.Tensor):
    """One whose own code answers for it."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        RAN.append(function)
        return super().__torch_function__(function, types, args, kwargs or {})


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(1000, 500)
        self.history = []


TRAINER = Trainer()
for _ in range(20):
    TRAINER.model(torch.ones(8, 1000)).sum().backward()
    whole = torch.zeros(1 << 18)
    TRAINER.history += [whole[5:], whole]
LOUD = torch.zeros(1000).as_subclass(Loud)
SHARED = torch.from_numpy(numpy.zeros(100_000))
SPARSE = torch.eye(4).to_sparse()
META = torch.zeros(1 << 20, device="meta")
del RAN[:]

objects = len(gc.get_objects())
dump(sys.argv[2], sys.argv[1])
assert not RAN
assert len(gc.get_objects()) <= objects
