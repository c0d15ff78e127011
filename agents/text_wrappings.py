"""The text of a field, out of what models put around it or over it: a fence, marks of an end, escapes."""

import json
import re
from collections.abc import Iterator

from agents.slips import RepairName

_MOST_LAYERS = 5
_LONGEST = 50_000  # characters: no field takes that many

# What ends a turn in the templates of ChatML, Llama, Gemma, Mistral, DeepSeek, gpt-oss and others.
_END_MARKS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "<|return|>"),
    *("<end_of_turn>", "<eos>", "<｜end▁of▁sentence｜>", "</s>"),
)
_FENCE = re.compile(r"(?P<marks>`{3,}|~{3,})(?:[ \t]*(?P<name>[\w+.-]+))?[ \t]*\n")
_FENCE_LINE = re.compile(r"^[ \t]{0,3}(?P<marks>`{3,}|~{3,}(?!~))(?P<name>[^\n`]*)$", re.MULTILINE)
_MARKDOWN = ("", "markdown", "md")

_BREAKS = re.compile(r"(?<!\\)(?:(?:\\r)?\\n(?:\\t|[ \t])*)+")
_BEGINS_LINE = re.compile(r"(?:[-*+>]|\d{1,3}[.)]|#{1,6}) |\||`{3}")  # of a list, a heading, a table, a fence
_ENDS_LINE = frozenset('.。!！?？:：;；)）]】」』”"*|`')
_GOES_ON = frozenset(".,;:!?)].，。、；：）」")
_ESCAPE = re.compile(r'\\(?:(n|r(?=\\n)|")|(t)(?![a-z]))|\\\\')
_ANY_ESCAPE = re.compile(r'\\([nrt"\\/])')
_MEANING = {"n": "\n", "r": "", "t": "\t"}
_LETTERS = re.compile(r"(?<!\\)(?:\\u[0-9a-fA-F]{4})+")


def bare_text(text: str, *, markdown: bool) -> tuple[str, list[RepairName]]:
    """A text as it was meant, and what was around it. Takes linear time."""
    names: list[RepairName] = []
    if len(text) > _LONGEST:
        return text, names
    for _ in range(_MOST_LAYERS):
        before = text
        if (unmarked := _without_end_marks(text)) != text:
            text = unmarked
            names.append("end_mark")
        if (unescaped := _unescaped(text)) != text:
            text = unescaped
            names.append("escaped_text")
        if markdown and (inside := unfenced(text, _MARKDOWN)) is not None:
            text = inside
            names.append("fenced_text")
        if text == before:
            break
    return text, names


def unfenced(text: str, names: tuple[str, ...]) -> str | None:
    """What is inside of the one fence, of such a name, that a text is from beginning to end."""
    bare = text.strip()
    opening = _FENCE.match(bare)
    if not opening or (opening["name"] or "").lower() not in names:
        return None
    marks = opening["marks"]
    inside = False  # of a fence within
    end = None
    for line in _FENCE_LINE.finditer(bare, opening.end()):
        if not line["marks"].startswith(marks):
            continue
        if line["name"].strip():
            inside = True
        elif inside:
            inside = False
        else:
            end = line
            break
    return bare[opening.end() : end.start()].strip("\n") if end and end.end() == len(bare) else None


def _without_end_marks(text: str) -> str:
    bare = text.rstrip()
    while mark := next((mark for mark in _END_MARKS if bare.endswith(mark)), None):
        if mark == "</s>" and "<s>" in bare:  # words that are struck out
            break
        bare = bare[: -len(mark)].rstrip()
    return bare if len(bare) < len(text.rstrip()) else text


def _unescaped(text: str) -> str:
    """Without the escapes that came through; those in code that stands in a line are what it speaks of."""
    if "\\" not in text or _is_json(text):
        return text
    parts = list(_parts(text))
    words = [part for part, ticks in parts if not ticks]
    if "\n" not in text and _breaks_are_meant(words):
        parts = [(_with_breaks(part, ticks), ticks) for part, ticks in parts]
    letters = [letter for part in words for run in _LETTERS.findall(part) for letter in _spelt(run)]
    # Whoever escaped one letter escaped all.
    if len(letters) > 1 and all(map(str.isascii, words)) and all(map(_can_be_read, letters)):
        parts = [(part if 0 < ticks < 3 else _LETTERS.sub(_read, part), ticks) for part, ticks in parts]
    unescaped = "".join(part for part, _ in parts)
    if unescaped == text or not text.startswith('"'):
        return unescaped
    try:  # it may be a string of JSON with its marks
        return str(json.loads(text))
    except ValueError:
        return unescaped


def _is_json(text: str) -> bool:
    """Whether it is a list or an object of JSON, whose escapes are its own."""
    if text[:1] not in ("[", "{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _breaks_are_meant(words: list[str]) -> bool:
    """Whether each `\\n` can be a line break, and one of them is nothing else.

    `C:\\new` and `\\neq` are none; of "joined by \\n\\n here" and "by \\n, not" the text speaks.
    """
    sure = False
    for part in words:
        for run in _BREAKS.finditer(part):
            before, after = part[max(0, run.start() - 1) : run.start()], part[run.end() : run.end() + 8]
            single, blank = run[0].count("\\n") == 1, run[0][-1].isspace()
            if single and not blank and "a" <= after[:1] <= "z":
                return False
            if (blank and before.isspace()) or after[:1] in _GOES_ON:
                return False
            sure |= not single or before in _ENDS_LINE or _BEGINS_LINE.match(after) is not None
    return sure


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """A text in pieces: words, for which the number is 0, and code with the number of its backticks."""
    runs = list(re.finditer("`+", text))
    closing: dict[int, int] = {}  # from a number of backticks to the next run of as many
    closed_by = [0] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        ticks = len(runs[at][0])
        closed_by[at] = closing.get(ticks, 0)
        closing[ticks] = at
    at = end = 0
    while at < len(runs):
        if not closed_by[at]:
            at += 1
            continue
        start, close = runs[at].start(), runs[closed_by[at]].end()
        yield text[end:start], 0
        yield text[start:close], len(runs[at][0])
        at, end = closed_by[at] + 1, close
    yield text[end:], 0


def _with_breaks(part: str, ticks: int) -> str:
    if ticks >= 3:
        return _ANY_ESCAPE.sub(lambda escape: _MEANING.get(escape[1], escape[1]), part)
    if ticks:
        return part
    return _ESCAPE.sub(lambda e: _MEANING.get(e[1] or e[2], e[1]) if e[1] or e[2] else e[0], part)


def _spelt(run: str) -> str:
    units = bytes.fromhex(run.replace("\\u", ""))
    return units.decode("utf-16-be", "replace")


def _read(run: re.Match[str]) -> str:
    return _spelt(run[0])


def _can_be_read(letter: str) -> bool:
    return letter == "\u3000" or (letter > "\xa0" and letter.isprintable() and letter != "\ufffd")
