"""Names that stay, without what a program's user or machine has put into them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.redact.rules import RedactionRules

_LUHN = tuple(2 * n if n < 5 else 2 * n - 9 for n in range(10))

_SECRETS = tuple(
    re.compile(expression.encode())
    for expression in (
        # Mail addresses.
        r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}"
        r"\.[A-Za-z]{2,24}",
        # Tokens by how they begin: Stripe, GitHub, GitLab, Slack, npm, OpenAI, Google.
        r"(?:[srp]k_(?:live|test)_|gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|npm_|sk-)"
        r"[A-Za-z0-9_-]{16,255}",
        r"AIza[A-Za-z0-9_-]{35}",
        # Keys of AWS, tokens of JSON, private keys.
        r"(?:AKIA|ASIA)[A-Z0-9]{16}",
        r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,1000}",
        r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[A-Za-z0-9+/=\s]{16,200}",
        # What has such a name, or the password in a URL.
        r"(?i:bearer|basic) [A-Za-z0-9._~+/=-]{16,1000}",
        r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{1,64}:[^\s/@\"']{4,128}@",
        r"(?i:passw(?:or)?d|secret|api[_-]?key|token)[\"']?\s{0,2}[=:]\s{0,2}[\"']?"
        r"[^\s\"'&,;]{8,128}",
    )
)
_CARD = re.compile(rb"(?<![\d.])[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\d.])")
_URL = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://[^\s()\"'<>]+"
    r"|(?<![\w./-])(?:/[^\s/:()\"'<>]+){2,}|(?<![\w])[A-Za-z]:\\[^\s:()\"'<>]+"
)
_SHORTEST = 8
_LIBRARIES = ("node_modules", "site-packages", "dist-packages")
_HOMES = ("home", "Users")
_SCRIPT = re.compile(
    r"\.(?:[cm]?[jt]sx?|html?|wasm|vue|svelte|json|py|node)(?:[:)].*)?$"
)
_PUBLIC = re.compile(r"(?:node|deno|internal|native|chrome-extension|wasm):")


def _is_card(digits: bytes) -> bool:
    numbers = [byte - 48 for byte in digits if 48 <= byte < 58]
    if not 13 <= len(numbers) <= 19 or len(set(numbers)) < 2:
        return False
    numbers.reverse()
    total = sum(numbers[::2]) + sum(_LUHN[number] for number in numbers[1::2])
    return total % 10 == 0


def secrets_in(data: bytes) -> set[bytes]:
    """Parts of ASCII text that look like secrets: tokens, keys, addresses, cards."""
    found = {one[0] for pattern in _SECRETS for one in pattern.finditer(data)}
    found |= {one[0] for one in _CARD.finditer(data) if _is_card(one[0])}
    return found


def scrubbed(name: str, rules: RedactionRules) -> str:
    """A name without secrets, and without the folders and hosts of URLs and paths."""
    name = _URL.sub(lambda found: _path(found[0], rules), name)
    if len(name) < _SHORTEST:
        return name
    for secret in sorted(secrets_in(name.encode("utf-8", "replace"))):
        text = secret.decode("utf-8", "replace")
        name = name.replace(text, rules.hashed(text))
    return name


def _path(path: str, rules: RedactionRules) -> str:
    """A path or URL of which hosts and folders are hashed.

    What is in a library stays, and so do a script's name and its own folder, by which
    modules are called, unless that is the home of a user.
    """
    if _PUBLIC.match(path):
        return path
    path, mark, query = path.partition("?")
    scheme, colon, rest = path.partition("://")
    if not colon:
        scheme, rest = "", path
    separator = "\\" if "\\" in rest and "/" not in rest else "/"
    parts = rest.split(separator)
    first = next((at for at, part in enumerate(parts) if part in _LIBRARIES), None)
    last = len(parts) - 2 if first is None else first
    if first is None and not _SCRIPT.search(parts[-1]):
        last = len(parts)
    elif len(parts) > 1 and parts[1] in _HOMES:
        last = max(last, 3)
    if colon and scheme != "file":
        last = max(last, 1)  # the host
    for at, part in enumerate(parts[:last]):
        if part and part != "..":
            parts[at] = rules.hashed(part)
    query = mark + rules.hashed(query) if query else ""
    return scheme + colon + separator.join(parts) + query
