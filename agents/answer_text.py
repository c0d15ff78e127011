"""An answer as text: past reasoning, fences and remarks to the one object that is meant."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from agents.lenient_json import Container, Piece, read
from agents.slips import RepairName

_INVISIBLE = "\ufeff\u200b\u2060"
_THINKING = re.compile(r"(?:\s*<(think|thinking|reasoning|thought)>.*?</\1>)+", re.DOTALL | re.IGNORECASE)
_THINKING_OPEN = re.compile(r"\s*<(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
# Some hosts swallow the opening tag, which is part of their prompt.
_THINKING_END = re.compile(r"[^{\[`].*?</(?:think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)
_FENCE_OPEN = re.compile(r"(?:^|\n)[ \t]*(?:`{3,}|~{3,})[\w+.-]*\s*$")
_FENCE_CLOSE = re.compile(r"^\s*(?:`{3,}|~{3,})")
_REST = re.compile(r"[\"”]\s*[:：}\]]")  # what only the inside of an object has
_ESCAPED_WHOLE = re.compile(r'[{\[](?:\s|\\n|\\t)*\\"')

_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+.-]*[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"<[^<>\n]{1,60}>")
_MARKS = " \t\r\n\u3000*_`#~-" + _INVISIBLE
_MOST_WORDS = 200  # characters around an object that is the answer for all that
_ENDS_SENTENCE = frozenset('.。!！?？:：)）]】}>"”」…')
_CITES = re.compile(r"[\[(【［（][SsＳ]\d")
# How a sentence goes on behind an object: `… is poor`, `，但是…`, `…は不十分`.
_GOES_ON = re.compile(r"[a-z,;，、；是不但的はがをともでの]")

Test = Callable[[Any], bool]


@dataclass(frozen=True)
class Wanted:
    """What tells the answer from other objects of a text.

    `recognised`: it looks like one. `complete`: it has all that is required, `plainly`: under its own names.
    `valid`: it can be used. `decides`: words behind it may take it back.
    """

    recognised: Test
    complete: Test
    plainly: Test
    valid: Test
    decides: bool


def answer_in_text(text: str, wanted: Wanted) -> tuple[Any, list[RepairName]] | None:
    """The value that a text gives, and what had to be mended to read it.

    None if there is no answer, an unfinished one, several that differ, or one that is only spoken of: a text
    that holds an object as an example or as a draft is no answer.
    """
    value, readable = _strict(text)
    if readable and not isinstance(value, str):
        return value, []
    names: list[RepairName] = []
    for _ in range(2):  # encoded twice, or three times
        if isinstance(value, str):
            text = value
        elif _ESCAPED_WHOLE.match(text.strip()):
            text, readable = _strict(f'"{text.strip()}"')
            if not readable:
                return None
        else:
            break
        names = ["double_encoded"]
        value, readable = _strict(text)
        if readable and not isinstance(value, str):
            return value, names
    found = _found(text, wanted)
    return None if found is None else (found[0], [*names, *found[1]])


def unfinished(text: str, *, at_limit: bool) -> bool:
    """Whether a text ends inside an object, a list or the reasoning in front of it.

    `at_limit`: a sentence behind an object counts, too; elsewhere many such sentences have no end.
    """
    if _strict(text)[1]:
        return False
    rest, _ = _without_thinking(text)
    reading = read(rest)
    if _THINKING_OPEN.match(rest) or reading.unfinished:
        return True
    objects = [piece for piece in reading.pieces if isinstance(piece.value, dict)]
    behind = _words(rest[objects[-1].end :]) if at_limit and objects else ""
    return behind != "" and behind[-1] not in _ENDS_SENTENCE


def json_in_string(text: str) -> tuple[Container, tuple[RepairName, ...]] | None:
    """The object or list that a string is, from its first character to its last."""
    bare = text.strip()
    if not bare.startswith(("{", "[")):
        return None
    value, readable = _strict(bare)
    if readable:
        return value, ()
    reading = read(bare)
    if len(reading.pieces) != 1 or reading.unfinished or reading.broken:
        return None
    (piece,) = reading.pieces
    # `[draft]` is a word in brackets.
    whole = (piece.start, piece.end) == (0, len(bare)) and "unquoted" not in piece.repairs
    return (piece.value, piece.repairs) if whole else None


def _strict(text: str) -> tuple[Any, bool]:
    try:
        return from_json(text), True
    except (ValueError, TypeError):  # TypeError: half a surrogate pair
        return None, False


def _without_thinking(text: str) -> tuple[str, bool]:
    bare = text.strip().strip(_INVISIBLE)
    ending = _THINKING.match(bare) or _THINKING_END.match(bare)
    return (bare[ending.end() :], True) if ending else (bare, False)


def _found(text: str, wanted: Wanted) -> tuple[Any, list[RepairName]] | None:
    bare, thought = _without_thinking(text)
    reading = read(bare)
    if reading.unfinished or _THINKING_OPEN.match(bare):
        return None
    piece = _meant(bare, reading.pieces, wanted, certain=not reading.broken)
    if piece is None:
        return None
    ends = [piece.end, *(each.end for each in reading.pieces if each.start > piece.start)]
    starts = [*(each.start for each in reading.pieces if each.start > piece.start), len(bare)]
    if any(_REST.search(bare, end, start) for end, start in zip(ends, starts, strict=True)):
        return None  # a mark in a text ended it too early
    names: list[RepairName] = ["thinking"] if thought else []
    if text.strip() != text.strip().strip(_INVISIBLE):
        names.append("invisible")
    before, opening = _FENCE_OPEN.subn("", bare[: piece.start])
    after, closing = _FENCE_CLOSE.subn("", bare[piece.end :])
    if opening or closing:
        names.append("fence")
    if (before + after).strip().strip(_INVISIBLE):
        if not _stands_apart(bare, piece, reading.pieces, wanted):
            return None
        names.append("chat")
    return piece.value, [*names, *piece.repairs]


def _stands_apart(text: str, piece: Piece, pieces: list[Piece], wanted: Wanted) -> bool:
    """Whether an object among words is the answer, and neither an example nor part of a sentence."""
    before, after = _without_answers(text, piece, pieces, wanted)
    said, added = _words(before), _words(after)
    if not said and not added:
        return True
    if not wanted.complete(piece.value) or _in_a_sentence(before, after):
        return False
    if len(said) + len(added) <= _MOST_WORDS:
        return True
    if not wanted.plainly(piece.value) or not wanted.valid(piece.value):
        return False
    if added:  # of a model that does not find an end; but not the text that it wrote in place of a draft
        return not said and not wanted.decides and not _CITES.search(after)
    return said[-1] in _ENDS_SENTENCE  # of one that thinks aloud


def _without_answers(text: str, piece: Piece, pieces: list[Piece], wanted: Wanted) -> tuple[str, str]:
    """What stands before and after an object, but for its copies and templates."""
    others = [other for other in pieces if wanted.recognised(other.value)]
    around = []
    for start, end in ((0, piece.start), (piece.end, len(text))):
        kept = []
        for other in others:
            if start <= other.start and other.end <= end:
                kept.append(text[start : other.start])
                start = other.end
        around.append("".join([*kept, text[start:end]]))
    return around[0], around[1]


def _in_a_sentence(before: str, after: str) -> bool:
    said, added = _words(before), _words(after)
    begun = said != "" and said[-1] not in _ENDS_SENTENCE
    goes_on = _GOES_ON.match(added) is not None
    line_before, line_after = _words(before.rpartition("\n")[2]), _words(after.partition("\n")[0])
    return (goes_on and (begun or line_after != "")) or (begun and line_before != "" and line_after != "")


def _words(text: str) -> str:
    """What a text says: without tags, marks of Markdown and its fences."""
    return " ".join(_TAG.sub(" ", _FENCE_LINE.sub("", text)).split()).strip(_MARKS)


def _meant(text: str, pieces: list[Piece], wanted: Wanted, *, certain: bool) -> Piece | None:
    """The one that is the answer; if none is recognised, the only object, if all could be read."""
    objects = [
        piece for piece in pieces if isinstance(piece.value, dict) or any(map(_is_object, piece.value))
    ]
    if (whole := _gathered(objects)) is not None and wanted.valid(whole.value):
        return whole
    answers = [piece for piece in objects if wanted.recognised(piece.value)]
    if len({text[piece.start : piece.end] for piece in answers}) > 1:
        answers = [piece for piece in answers if wanted.valid(piece.value)]
        if len(answers) > 1:
            return None
    if answers:
        return answers[0]
    return objects[0] if len(objects) == 1 and certain else None


def _gathered(objects: list[Piece]) -> Piece | None:
    """The one object of which each field came as one."""
    fields = [each.value for each in objects if isinstance(each.value, dict) and len(each.value) == 1]
    whole = {name: value for field in fields for name, value in field.items()}
    if len(objects) < 2 or not len(objects) == len(fields) == len(whole):
        return None
    repairs = dict.fromkeys(name for each in objects for name in each.repairs)
    return Piece(whole, objects[0].start, objects[-1].end, ("scattered", *repairs))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
