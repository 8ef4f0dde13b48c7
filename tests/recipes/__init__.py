"""Recipes of ``ingest/README.md`` as patches: each adds one thing to the tool.

A patch begins with its purpose and a line ``Suite:`` of what pytest is given to test
it. To change one: ``git apply`` it, edit, and write ``git diff -U1`` after these lines.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recipe.

    Attributes:
        name: Of its file.
        purpose: What it adds, in a sentence.
        suite: What pytest is given to test it.
        patch: Its file.
    """

    name: str
    purpose: str
    suite: tuple[str, ...]
    patch: Path

    def apply(self, checkout: Path, *options: str) -> str:
        """Apply the patch to a checkout; what git says.

        Raises:
            OSError: there is no git.
            CalledProcessError: the patch does not apply.
        """
        # A hook's repository is another one; so is one above a copy.
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        return subprocess.run(
            ["git", "apply", *options, str(self.patch)],
            cwd=checkout, capture_output=True, check=True, text=True,
            env={**kept, "GIT_CEILING_DIRECTORIES": str(checkout.parent)},
        ).stdout  # fmt: skip

    def files(self) -> list[str]:
        """The files that it changes or adds."""
        text = self.patch.read_text(encoding="utf-8")
        return re.findall(r"^\+\+\+ b/(.+)$", text, re.MULTILINE)

    def stat(self) -> str | None:
        """What it changes, file by file; ``None`` without git."""
        try:
            return self.apply(_FOLDER, "--stat")
        except OSError:
            return None


def _read(patch: Path) -> Recipe:
    purpose, suite = patch.read_text(encoding="utf-8").splitlines()[:2]
    words = shlex.split(suite.removeprefix("Suite:"))
    return Recipe(patch.stem, purpose, tuple(words), patch)


RECIPES = {patch.stem: _read(patch) for patch in sorted(_FOLDER.glob("*.patch"))}
