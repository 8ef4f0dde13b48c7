"""Command lines that are printed for the user to paste into a shell.

All of them are made here: for terminals, pages, guides and errors.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

_PACKAGE = "heaproots"


def command(*words: str, dump: str | None = None) -> str:
    r"""Return ``ingest WORDS``, quoted for a shell.

    A control character cannot be printed as it is, so it is written as bash, zsh and
    ksh read it: ``$'a\x1b'``.

    Args:
        words: Command, arguments and options, or a word such as ``NAME`` in their
            place.
        dump: The loaded dump that the command is about. It is named even if it is the
            newest, since there may be a newer one when the command is pasted.
    """
    named = () if dump is None else ("--dump", dump)
    return " ".join(map(quoted, ("ingest", *words, *named)))


def quoted(word: str) -> str:
    """Quote one word for a shell."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(character: str) -> str:
    if character.isprintable():
        return f"\\{character}" if character in "\\'" else character
    # The name of a file may have bytes that are not text.
    lone = "\udc80" <= character <= "\udcff"
    code = character.encode("utf-8", "surrogateescape" if lone else "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in code)


def install_command(extra: str) -> str:
    """Return the command that installs an extra where heaproots is installed.

    For an installed package, pip and uv add what the extra needs, without looking for
    another version of the package.
    """
    prefix = Path(sys.prefix)
    wanted = f"'{_PACKAGE}[{extra}]'"
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx runpip {quoted(prefix.name)} install {wanted}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv pip install --python {quoted(str(prefix))} {wanted}"
    if _is_of_checkout():
        return f"in the checkout of heaproots: pip install '.[{extra}]'"
    return f"pip install {wanted}"


def _is_of_checkout() -> bool:
    """Whether the package runs from a folder of sources, or was installed from one."""
    if (Path(__file__).parents[2] / "pyproject.toml").exists():
        return True
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(_PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        return False
    return found is not None and "dir_info" in json.loads(found)


def why_command(subject: str, dump: str | None = None, file: str = "") -> str:
    """Return the command that shows what keeps something alive.

    Args:
        subject: An address or a type.
        dump: The loaded dump.
        file: The file that was opened instead, if the dump is not loaded.
    """
    if file:
        return command("why", subject, "--in", file)
    return command("why", subject, dump=dump)
