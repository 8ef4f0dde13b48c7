"""Readers against changed dumps: none may crash, hang, or take much memory.

``make fuzz ARGS="--format gcdump --inputs 200000"`` changes small dumps at random and
reads each of them, with the bounds of arrays checked in compiled code. A reader may
accept an input or refuse it with a `DumpError`; anything else is a failure, and its
input is stored. The same seed and number give the same input.
"""
