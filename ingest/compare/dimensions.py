"""Dimensions of comparison, and kinds of changes; imports nothing heavy."""

from __future__ import annotations

from enum import StrEnum


class Dimension(StrEnum):
    """What is compared."""

    SUSPECT = "suspect"
    DOMINATOR_PATH = "dominator-path"
    ROOT_PATH = "root-path"
    TYPE = "type"
    NAMESPACE = "namespace"


PATHS = {
    Dimension.DOMINATOR_PATH: "dominators",
    Dimension.ROOT_PATH: "root_paths",
}
"""The names of the trees of paths."""

TREES = tuple(PATHS.values())


class Change(StrEnum):
    """How the last dump differs from the first."""

    NEW = "new"
    GONE = "gone"
    GROWN = "grown"
    SHRUNK = "shrunk"
    MOVED = "moved"
    UNKNOWN = "unknown"
    """A dump is incomplete, which may explain the difference."""
    SAME = "same"
