"""A Python program with arrays of numpy, and of pandas where that is there.

python arrays.py MODE PATH
"""

import mmap
import sys

import numpy

sys.path.insert(0, __file__.rsplit("tests", 1)[0] + "ingest/capture/python")

from heaproots_dump import dump


class Item:
    def __init__(self, number):
        self.number = number


RAN = []


class Sub(numpy.ndarray):
    """One whose own code runs for each view and copy of it."""

    def __array_finalize__(self, other):
        RAN.append("finalize")

    def __getattribute__(self, name):
        RAN.append(name)
        return super().__getattribute__(name)


LARGE = numpy.zeros(1000000)
VIEW = numpy.zeros((1000, 100))[10:20]
ITEMS = numpy.array([[Item(n), Item(n + 1)] for n in range(100)], dtype=object)
SOME = ITEMS[:7]
FLAT = numpy.array([Item(-1), None, Item(-2)], dtype=object)
SCALAR = numpy.array(Item(-3), dtype=object)
NESTED = numpy.array([None], dtype=object)
NESTED[0] = numpy.array([Item(-4)], dtype=object)
PAIRS = numpy.zeros(3, dtype=[("what", object), ("n", int)])
SUB = numpy.zeros(5000).view(Sub)
SUB_ITEMS = numpy.array([Item(-5)], dtype=object).view(Sub)
SUB.label = "mine"
MAPPED = mmap.mmap(-1, 300000)
OF_MAPPED = numpy.frombuffer(MAPPED)
OF_C = numpy.from_dlpack(numpy.zeros(70000))
try:
    import pandas

    FRAME = pandas.DataFrame({"n": range(50000), "item": [Item(-6)] * 50000})
except ImportError:
    pass


if __name__ == "__main__":
    del RAN[:]
    dump(sys.argv[2], sys.argv[1])
    assert not RAN, RAN
