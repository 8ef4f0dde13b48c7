"""Command lines that are printed for the user to paste into a shell.

Every one is made here: in a terminal, on a page, in the guide, in an error.
"""

from __future__ import annotations

import shlex


def command(*words: str, dump: str | None = None) -> str:
    r"""Return ``ingest WORDS``, quoted for a shell.

    A control character cannot be printed as it is, and is written as bash, zsh and ksh
    read it: ``$'a\x1b'``.

    Args:
        words: Command, arguments and options, or a word such as ``NAME`` in their
            place.
        dump: The loaded dump that the command is about. It is named even if it is the
            newest, for another one may be by the time the command is pasted.
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
    # The name of a file may have bytes that are no text.
    lone = "\udc80" <= character <= "\udcff"
    code = character.encode("utf-8", "surrogateescape" if lone else "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in code)


def install_command(extra: str) -> str:
    """Return how to install what an extra of heaproots needs.

    The package is on no index: it is installed from its checkout.
    """
    return f"in the checkout of heaproots: pip install '.[{extra}]'"


def why_command(subject: str, dump: str | None = None, file: str = "") -> str:
    """Return the command that shows what keeps something alive.

    Args:
        subject: An address or a type.
        dump: The loaded dump.
        file: What was opened instead, if the dump is not loaded.
    """
    if file:
        return command("why", subject, "--in", file)
    return command("why", subject, dump=dump)
