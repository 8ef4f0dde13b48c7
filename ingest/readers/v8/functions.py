"""Where the functions of a script are, found without parsing its statements.

Strings, templates, comments and regular expressions are passed over, brackets are
matched, and ``=>`` and braces after parameters begin functions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.arrays.compiled import kernel

if TYPE_CHECKING:
    from ingest.arrays.compiled import Bools, Bytes, Longs

_PLAIN, _SCOPE, _FUNCTION = range(3)
"""Kinds of regions: brackets that variables are not declared for; blocks, heads of
loops, parameters and bodies; and functions."""

_BEGIN, _END, _PARENT, _KIND, _NOTE, _CHARACTER = range(6)
_WIDTH = 6
_COUNT, _DEPTH, _AT, _LAST, _BEFORE, _WORD, _WORD_END, _CLOSED, _LINE = range(9)
_STATE = 9
_A_WORD, _AN_ARROW = 97, 1
_HAS_BODY = -1
"""Note of an arrow function whose body has braces; of another one, how many ``?`` wait
for their ``:``; of parentheses, 1 if they are those of ``if``, ``for`` and so on."""

_QUOTE, _APOSTROPHE, _TEMPLATE, _SLASH, _BACKSLASH = b"\"'`/\\"
_OPEN, _CLOSE, _BRACE, _END_BRACE, _BRACKET, _END_BRACKET = b"(){}[]"
_COLON, _SEMICOLON, _COMMA, _QUESTION, _DOT, _DOLLAR = b":;,?.$"
_EQUAL, _GREATER, _STAR, _PLUS, _MINUS, _NEWLINE, _BLANK = b"=>*+-\n "

_BEFORE_REGEXP = np.frombuffer(
    b" return typeof case in of delete void throw new instanceof do else yield await ",
    np.uint8,
)
_BEFORE_HEAD = np.frombuffer(b" if for while switch catch with await ", np.uint8)
_BEFORE_BLOCK = np.frombuffer(b" else do try finally catch static ", np.uint8)
_IS_WORD = np.zeros(256, np.bool_)
_IS_WORD[[c for c in range(128) if chr(c).isalnum() or chr(c) in "_$"]] = True
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


@kernel
def _is_one_of(text: Bytes, begin: int, end: int, words: Bytes) -> bool:
    """Whether a word is among ``words``, which have blanks around them."""
    size = end - begin
    for at in range(len(words) - size - 1):
        if words[at] == _BLANK and words[at + size + 1] == _BLANK:
            same = 0
            while same < size and text[begin + same] == words[at + 1 + same]:
                same += 1
            if same == size:
                return True
    return False


@kernel
def _after_literal(text: Bytes, at: int, until: int) -> int:
    """The place after a string or regular expression, at most the end of its line."""
    in_class = False
    while at < len(text) and text[at] != _NEWLINE:
        if text[at] == _BACKSLASH:
            at += 1
        elif until == _SLASH and text[at] == _BRACKET:
            in_class = True
        elif in_class:
            in_class = text[at] != _END_BRACKET
        elif text[at] == until:
            return at + 1
        at += 1
    return at


@kernel
def _after_comment(text: Bytes, at: int) -> int:
    """The place after a comment that begins here; ``at`` if none does."""
    if at + 1 < len(text) and text[at + 1] == _SLASH:
        while at < len(text) and text[at] != _NEWLINE:
            at += 1
    elif at + 1 < len(text) and text[at + 1] == _STAR:
        at += 2
        while at + 1 < len(text) and not (text[at] == _STAR and text[at + 1] == _SLASH):
            at += 1
        at += 2
    return at


@kernel
def _push(rows: Longs, stack: Longs, state: Longs, begin: int, character: int) -> int:
    """Begin a region, and tell its row."""
    row = state[_COUNT]
    rows[row, _BEGIN], rows[row, _PARENT] = begin, stack[state[_DEPTH] - 1]
    rows[row, _KIND], rows[row, _NOTE], rows[row, _CHARACTER] = _PLAIN, 0, character
    stack[state[_DEPTH]] = row
    state[_COUNT] += 1
    state[_DEPTH] += 1
    return int(row)


@kernel
def _pop(rows: Longs, stack: Longs, state: Longs) -> int:
    """End the innermost region, and tell its row."""
    state[_DEPTH] -= 1
    row = stack[state[_DEPTH]]
    rows[row, _END] = state[_AT]
    return int(row)


@kernel
def _is_arrow(rows: Longs, stack: Longs, state: Longs) -> bool:
    """Whether the innermost region is an arrow function."""
    return bool(rows[stack[state[_DEPTH] - 1], _CHARACTER] == _AN_ARROW)


@kernel
def _pass_template(text: Bytes, rows: Longs, stack: Longs, state: Longs) -> None:
    """Go to the end of a template, or into its next ``${``."""
    at = state[_AT] + 1
    while at < len(text) and text[at] != _TEMPLATE:
        if text[at] == _BACKSLASH:
            at += 1
        elif text[at] == _DOLLAR and at + 1 < len(text) and text[at + 1] == _BRACE:
            _push(rows, stack, state, at + 1, _DOLLAR)
            state[_AT], state[_LAST] = at + 2, _BRACE
            return
        at += 1
    state[_AT], state[_LAST] = at + 1, _TEMPLATE


@kernel
def _open(text: Bytes, rows: Longs, stack: Longs, state: Longs) -> None:
    """Begin what a bracket opens."""
    character, last, closed = text[state[_AT]], state[_LAST], state[_CLOSED]
    above = stack[state[_DEPTH] - 1]
    is_body = last == _AN_ARROW and rows[above, _CHARACTER] == _AN_ARROW
    begin, end = state[_WORD], state[_WORD_END]
    row = _push(rows, stack, state, state[_AT], character)
    if character == _OPEN and last == _A_WORD:
        rows[row, _NOTE] = _is_one_of(text, begin, end, _BEFORE_HEAD)
    elif character != _BRACE:
        return
    elif is_body:
        rows[row, _KIND], rows[above, _NOTE] = _SCOPE, _HAS_BODY
    elif last == _CLOSE and rows[closed, _NOTE]:
        rows[row, _KIND] = rows[closed, _KIND] = _SCOPE
        rows[row, _PARENT] = closed
    elif last == _CLOSE:
        rows[row, _KIND], rows[closed, _KIND] = _FUNCTION, _SCOPE
        rows[closed, _PARENT] = row
    elif last in (_SEMICOLON, _BRACE, _END_BRACE) or (
        last == _A_WORD and _is_one_of(text, begin, end, _BEFORE_BLOCK)
    ):
        rows[row, _KIND] = _SCOPE


@kernel
def _shut(text: Bytes, rows: Longs, stack: Longs, state: Longs) -> bool:
    """End what a bracket closes; tell whether it was opened so."""
    character = text[state[_AT]]
    while _is_arrow(rows, stack, state):
        _pop(rows, stack, state)
    opened = rows[stack[state[_DEPTH] - 1], _CHARACTER]
    if character == _END_BRACE and opened == _DOLLAR:
        _pop(rows, stack, state)
        _pass_template(text, rows, stack, state)
        return True
    if opened != (_OPEN if character == _CLOSE else character - 2):
        return False
    state[_CLOSED] = _pop(rows, stack, state)
    if character == _END_BRACE and _is_arrow(rows, stack, state):
        arrow = stack[state[_DEPTH] - 1]
        if rows[arrow, _NOTE] == _HAS_BODY:
            _pop(rows, stack, state)
    state[_LAST] = character
    state[_AT] += 1
    return True


@kernel
def _punctuate(text: Bytes, rows: Longs, stack: Longs, state: Longs) -> None:
    """Begin and end arrow functions at what is no bracket."""
    at, character, last = state[_AT], text[state[_AT]], state[_LAST]
    after = text[at + 1] if at + 1 < len(text) else _BLANK
    state[_BEFORE], state[_LAST] = last, character
    if character == _EQUAL and after == _GREATER:
        begin = state[_WORD] if last == _A_WORD else at
        arrow = _push(rows, stack, state, begin, _AN_ARROW)
        rows[arrow, _KIND] = _FUNCTION
        if last == _CLOSE:
            closed = state[_CLOSED]
            rows[closed, _PARENT], rows[closed, _KIND] = arrow, _SCOPE
        state[_AT] += 1
        state[_LAST] = _AN_ARROW
    elif character in (_COMMA, _SEMICOLON):
        while _is_arrow(rows, stack, state):
            _pop(rows, stack, state)
    elif character == _QUESTION and _is_arrow(rows, stack, state):
        is_choice = after != _QUESTION and last != _QUESTION and after != _DOT
        rows[stack[state[_DEPTH] - 1], _NOTE] += is_choice
    elif character == _COLON:
        while _is_arrow(rows, stack, state):
            arrow = stack[state[_DEPTH] - 1]
            if rows[arrow, _NOTE] > 0:
                rows[arrow, _NOTE] -= 1
                break
            _pop(rows, stack, state)
    state[_AT] += 1


@kernel
def _is_value(text: Bytes, rows: Longs, state: Longs) -> bool:
    """Whether a value ends here, so that a slash divides it."""
    last = state[_LAST]
    if last == _A_WORD:
        begin, end = state[_WORD], state[_WORD_END]
        return not _is_one_of(text, begin, end, _BEFORE_REGEXP)
    if last == _CLOSE:
        return not rows[state[_CLOSED], _NOTE]
    if last in (_PLUS, _MINUS):
        return bool(state[_BEFORE] == last)
    return last in (_END_BRACKET, _QUOTE, _TEMPLATE)


@kernel
def _find(text: Bytes, is_word: Bools, rows: Longs, stack: Longs, state: Longs) -> int:
    """Fill the regions of a script; ``state`` is all 0.

    Returns:
        How many there are; 0 if brackets do not match.
    """
    rows[0, _BEGIN], rows[0, _END], rows[0, _PARENT] = -1, len(text), -1
    rows[0, _KIND], rows[0, _CHARACTER] = _FUNCTION, 0
    state[_COUNT], state[_DEPTH] = 1, 1
    stack[0] = 0
    while state[_AT] < len(text):
        at, character = state[_AT], text[state[_AT]]
        if is_word[character]:
            if state[_LINE] and _is_value(text, rows, state):
                while _is_arrow(rows, stack, state):  # a line without a semicolon
                    _pop(rows, stack, state)
            state[_LINE] = 0
            while at < len(text) and is_word[text[at]]:
                at += 1
            state[_WORD], state[_WORD_END], state[_LAST] = state[_AT], at, _A_WORD
            state[_AT] = at
        elif character <= _BLANK:
            state[_LINE] |= character == _NEWLINE
            state[_AT] += 1
        elif character in (_QUOTE, _APOSTROPHE):
            state[_AT], state[_LAST] = _after_literal(text, at + 1, character), _QUOTE
        elif character == _TEMPLATE:
            _pass_template(text, rows, stack, state)
        elif character == _SLASH and _after_comment(text, at) > at:
            state[_AT] = _after_comment(text, at)
        elif character == _SLASH and not _is_value(text, rows, state):
            state[_AT], state[_LAST] = _after_literal(text, at + 1, _SLASH), _QUOTE
        elif character in (_OPEN, _BRACE, _BRACKET):
            _open(text, rows, stack, state)
            state[_LAST], state[_LINE] = character, 0
            state[_AT] += 1
        elif character in (_CLOSE, _END_BRACE, _END_BRACKET):
            if not _shut(text, rows, stack, state):
                return 0
        else:
            state[_LINE] = 0
            _punctuate(text, rows, stack, state)
    while state[_DEPTH] > 1 and _is_arrow(rows, stack, state):
        _pop(rows, stack, state)
    return int(state[_COUNT]) if state[_DEPTH] == 1 else 0


@kernel
def _climb(rows: Longs, places: Longs, scopes: Longs) -> None:
    """Fill the scope of each place; ``scopes`` has the last region before it."""
    for i in range(len(places)):
        row = scopes[i]
        while rows[row, _END] <= places[i] or rows[row, _KIND] == _PLAIN:
            row = rows[row, _PARENT]
        scopes[i] = row


@kernel
def _enclose(rows: Longs, above: Longs, functions: Longs) -> None:
    """Fill the scope that encloses each region, and the function that it is in."""
    for row in range(len(rows)):
        at = rows[row, _PARENT]
        while at >= 0 and rows[at, _KIND] == _PLAIN:
            at = rows[at, _PARENT]
        above[row] = at
        at = row
        while rows[at, _KIND] != _FUNCTION:
            at = rows[at, _PARENT]
        functions[row] = at


class ScriptFunctions:
    """The functions and blocks of a script, its *scopes*, by number.

    Args:
        text: The script.

    Attributes:
        text: Its characters, with two for each that has two units in UTF-16.
        above: int64 (S,). The scope that encloses each; -1 for the script, scope 0.
        function: int64 (S,). The function that each scope is in, or is.

    Raises:
        ValueError: its brackets do not match.
    """

    def __init__(self, text: str) -> None:
        self.text = _ASTRAL.sub("\ufffd\ufffd", text)
        units = np.frombuffer(self.text.encode("utf-16-le", "surrogatepass"), "<u2")
        # What is not ASCII is in words, or anywhere in texts.
        self.units = np.where(units < 128, units, ord("_")).astype(np.uint8)
        self._lines = np.append(0, np.flatnonzero(self.units == _NEWLINE) + 1)
        count = len(re.findall(r"[(\[{]|=>", self.text)) + 1
        rows = np.empty((count, _WIDTH), np.int64)
        stack, state = np.empty(count, np.int64), np.zeros(_STATE, np.int64)
        count = int(_find(self.units, _IS_WORD, rows, stack, state))
        if not count:
            raise ValueError("brackets do not match")
        self._rows = rows[:count]
        self.above, self.function = np.empty((2, count), np.int64)
        _enclose(self._rows, self.above, self.function)

    def places(self, lines: Longs, columns: Longs) -> Longs:
        """int64: places in the text, from lines and columns from 0; -1 for none."""
        found = np.full(len(lines), -1, np.int64)
        known = (lines >= 0) & (lines < len(self._lines)) & (columns >= 0)
        found[known] = self._lines[lines[known]] + columns[known]
        found[found >= len(self.units)] = -1
        return found

    def may_begin(self, lines: Longs, columns: Longs) -> Bools:
        """Bool: whether a function or class may begin at each of some places.

        V8 says that a function is at its parameters, and a class at ``class``.
        """
        places = self.places(lines, columns)
        units = np.append(self.units, np.full(2, _BLANK, np.uint8))  # before the first
        found = _IS_WORD[units[places]] & ~_IS_WORD[units[places - 1]]
        found |= units[places] == _OPEN
        found &= places >= 0
        return found

    def scopes(self, places: Longs) -> Longs:
        """int64: the innermost scope that each place is in."""
        scopes = np.searchsorted(self._rows[:, _BEGIN], places, side="right") - 1
        _climb(self._rows, places, scopes)
        return scopes
