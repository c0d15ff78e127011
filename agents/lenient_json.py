"""JSON as models write it: with remarks around it, single quotes, trailing commas. Read, and never completed.

Libraries were tried: json_repair 0.64 closes what was cut off, takes the last of two answers and needs
over a minute for 2 MB; json5 needs seconds for 200 kB; both overflow on deep nesting. This reader is a loop
with its own stack. What stands in a text in one clear way is read; where there are two ways, it gives up.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from agents.json_strings import only_quotations, unescaped
from agents.slips import RepairName

Container = dict[str, Any] | list[Any]

_WS = r"[\s\ufeff\u200b]*"
_NOTE = r"(?://|/\*|#)"  # the start of a comment
# A name with its colon; a text that ends on the way there was cut off.
_QUOTED_NAME = r"[\"'“][^\"'“”\n]{0,64}(?:[\"'”]\s*(?:[:：]|\Z)|\Z)"
_BARE_NAME = r"[A-Za-z_]\w{0,40}\s*(?:[:：]|\Z)"

_OPENING = re.compile(r"[{\[]")
# The bound of a comment keeps a text full of `/*` from being read to its end at each of them.
_BLANK = re.compile(r"(?:[\s\ufeff\u200b]+|//[^\n]*|\#[^\n]*|/\*.{0,500}?\*/)*", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w-]{0,40}")
_NUMBER = re.compile(r"([+-]?\d{1,300}(?:\.\d*)?(?:[eE][+-]?\d{1,4})?)(\s*(?:/\s*\d{1,9}|%))?(?![\w.])")
_WORD_END = re.compile(rf"{_WS}[,，}}\]]")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "NaN": float("nan")}
_OTHER_WORDS: dict[str, Any] = {
    **{"True": True, "TRUE": True, "False": False, "FALSE": False, "None": None, "NULL": None, "Null": None},
    **{"undefined": None, "nil": None, "Infinity": float("inf"), "nan": float("nan")},
}
_KNOWN_WORDS = [*_WORDS, *_OTHER_WORDS]
_CLOSERS = {'"': re.compile(r'\\.|"', re.DOTALL), "'": re.compile(r"\\.|'", re.DOTALL)}
_CLOSERS |= dict.fromkeys("“”", re.compile(r'\\.|[”"]', re.DOTALL))
_MOST_STEPS = 50_000  # marks, names and values of a text: fifty times what the longest answer has
_DEEPEST = 100  # levels: no answer has ten, and JSON that is much deeper cannot be written again


class _Expected(Enum):
    NAME = auto()
    COLON = auto()
    FIELD = auto()  # the value of a name
    ITEM = auto()  # of a list
    NEXT = auto()  # a comma or the end


def _followed(name: str) -> dict[_Expected, re.Pattern[str]]:
    """What follows a quotation mark that ends a string; any other one is part of the text.

    A comma ends a field only if a name comes after it: `"He said "yes", nodded and left"` is one string.
    """
    end = rf"\Z|[}}\]]|{_NOTE}"
    return {
        _Expected.NAME: re.compile(rf"{_WS}(?:[:：]|\Z)"),
        _Expected.FIELD: re.compile(rf"{_WS}(?:{end}|(?:[,，、]{_WS})+(?:{end}|{name}))|\s+{name}"),
        _Expected.ITEM: re.compile(
            rf"{_WS}(?:{end}|(?:[,，、]{_WS})+(?:{end}|[\[{{\"'“\d-]|true|false|null|True|False|None))"
            r"|[ \t\r]*\n\s*[\"'“{\[]"
        ),
    }


_AFTER = _followed(_QUOTED_NAME)
_AFTER_BARE = _followed(rf"(?:{_QUOTED_NAME}|{_BARE_NAME})")


@dataclass(frozen=True)
class Piece:
    """An object or a list that stands in a text, complete, from `start` to `end`."""

    value: Container
    start: int
    end: int
    repairs: tuple[RepairName, ...]


@dataclass(frozen=True)
class Reading:
    """What stands in a text, outermost and in order.

    `unfinished`: the text ends inside an object or a list. `broken`: somewhere one began that cannot be read.
    """

    pieces: list[Piece]
    unfinished: bool
    broken: bool


def read(text: str) -> Reading:
    """All objects and lists of a text, between which anything may stand.

    Takes linear time, raises nothing, and gives up on a text that is nothing but brackets, or too deep.
    """
    pieces: list[Piece] = []
    broken = False
    at = steps = 0
    while opening := _OPENING.search(text, at):
        if steps > _MOST_STEPS:
            return Reading([], unfinished=False, broken=True)
        reader = _Reader(text, opening.start(), _MOST_STEPS - steps)
        try:
            value = reader.container()
        except _Unfinished:
            return Reading(pieces, unfinished=True, broken=broken)
        except _TooDeep:
            return Reading([], unfinished=False, broken=True)
        except _Broken:
            # Goes on from where it broke, never from the opening: that would make the time quadratic.
            broken = True
            at = max(reader.at, opening.end())
        else:
            pieces.append(Piece(value, opening.start(), reader.at, tuple(reader.repairs)))
            at = reader.at
        steps += reader.steps
    return Reading(pieces, unfinished=False, broken=broken)


class _Unfinished(Exception):
    """The text ended."""


class _Broken(Exception):
    """It cannot be read in one clear way."""


class _TooDeep(Exception):
    """No answer has so many levels."""


class _Reader:
    """Reads one object or list from `at` on; afterwards `at` is behind it, or where it broke."""

    def __init__(self, text: str, at: int, most_steps: int) -> None:
        self.at = at
        self.steps = 0
        self.repairs: dict[RepairName, None] = {}
        self._text = text
        self._most_steps = most_steps
        self._stack: list[Container] = []
        self._names: list[str] = []  # the one whose value is being read, for each of the stack
        self._expected = _Expected.ITEM
        self._after_comma = False
        self._after = _AFTER

    def container(self) -> Container:
        """Raises _Unfinished, _Broken and _TooDeep."""
        root = self._open()
        self.steps = 1
        while self._stack:
            self._blank()
            if self.at >= len(self._text):
                raise _Unfinished
            self._count()
            self._step(self._text[self.at])
        return root

    def _step(self, char: str) -> None:
        match self._expected:
            case _Expected.NEXT:
                self._next(char)
            case _Expected.COLON:
                if char not in ":：":
                    raise _Broken
                self._mark(char, ":")
                self._expected = _Expected.FIELD
            case _Expected.NAME | _Expected.ITEM if char in ",，、":
                self._did("stray_comma")
                self.at += 1
            case _Expected.NAME | _Expected.ITEM if char in "}]":
                if self._after_comma:
                    self._did("stray_comma")
                self._close(char)
            case _Expected.NAME:
                self._names[-1] = self._string(char) if char in _CLOSERS else self._bare_name()
                self._expected = _Expected.COLON
            case _:
                if char in "{[":
                    self._open()
                else:
                    self._add(self._string(char) if char in _CLOSERS else self._scalar())
        self._after_comma = char in ",，、"

    def _next(self, char: str) -> None:
        if char in "}]":
            self._close(char)
            return
        in_object = isinstance(self._stack[-1], dict)
        if char in ",，、":
            self._mark(char, ",")
        elif char in _CLOSERS or (char in "{[" and not in_object):
            self._did("missing_comma")
        else:
            raise _Broken
        self._expected = _Expected.NAME if in_object else _Expected.ITEM

    def _open(self) -> Container:
        opened: Container = {} if self._text[self.at] == "{" else []
        if len(self._stack) == _DEEPEST:
            raise _TooDeep
        if self._stack:
            self._add(opened)
        self._stack.append(opened)
        self._names.append("")
        self._expected = _Expected.NAME if isinstance(opened, dict) else _Expected.ITEM
        self.at += 1
        return opened

    def _close(self, char: str) -> None:
        if (char == "}") != isinstance(self._stack[-1], dict):
            raise _Broken
        self._stack.pop()
        self._names.pop()
        self._expected = _Expected.NEXT
        self.at += 1

    def _add(self, value: Any) -> None:
        top = self._stack[-1]
        if isinstance(top, dict):
            top[self._names[-1]] = value
        else:
            top.append(value)
        self._expected = _Expected.NEXT

    def _blank(self) -> None:
        blank = _BLANK.match(self._text, self.at)
        assert blank  # it matches the empty text, too
        self.at = blank.end()
        if blank[0].strip().strip("\ufeff\u200b"):
            self._did("comment")

    def _mark(self, char: str, plain: str) -> None:
        if char != plain:
            self._did("full_width_mark")
        self.at += 1

    def _bare_name(self) -> str:
        name = _NAME.match(self._text, self.at)
        if not name:
            raise _Broken
        self._did("unquoted")
        self._after = _AFTER_BARE
        self.at = name.end()
        return name[0]

    def _scalar(self) -> Any:
        if number := _NUMBER.match(self._text, self.at):
            self.at = number.end()
            if number[2]:  # 71/100
                self._did("unquoted")
                return number[0]
            return int(number[1]) if number[1].lstrip("+-").isdecimal() else float(number[1])
        word = _NAME.match(self._text, self.at)
        if not word:
            raise _Unfinished if self._text[self.at :] in ("-", "+") else _Broken
        self.at = word.end()
        if word[0] in _WORDS:
            return _WORDS[word[0]]
        if word[0] in _OTHER_WORDS:
            self._did("python_literal")
            return _OTHER_WORDS[word[0]]
        if not _WORD_END.match(self._text, self.at):
            begun = self.at == len(self._text) and any(known.startswith(word[0]) for known in _KNOWN_WORDS)
            raise _Unfinished if begun else _Broken
        self._did("unquoted")
        return word[0]

    def _string(self, mark: str) -> str:
        start = self.at + 1
        after = self._after[self._expected]
        inner: list[int] = []
        for found in _CLOSERS[mark].finditer(self._text, start):
            if found[0][0] == "\\":
                continue
            self._count()
            if after.match(self._text, found.end()):
                break
            if mark != "'" or not self._text[found.start() - 1].isalnum():  # an apostrophe stands alone
                inner.append(found.start() - start)
        else:
            self.at = len(self._text)
            raise _Unfinished
        self.at = found.end()
        body = self._text[start : found.start()]
        if mark != '"':
            self._did("quote_marks")
        if inner:
            if self._expected is _Expected.NAME or not only_quotations(body, inner, mark):
                raise _Broken
            self._did("inner_quotes")
        if any(ord(char) < 32 for char in set(body)):
            self._did("raw_newline")
        decoded, names = unescaped(body)
        self._did(*names)
        return decoded

    def _count(self) -> None:
        self.steps += 1
        if self.steps > self._most_steps:
            raise _Broken

    def _did(self, *names: RepairName) -> None:
        self.repairs.update(dict.fromkeys(names))
