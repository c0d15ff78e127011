"""Prompts: the instruction files, and text of others inside tags that it cannot close."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path

from agents.citations import unlinked
from knowledge.language import Language

_FOLDER = Path(__file__).parent / "prompts"

# The tags of every prompt. A body is nested tags made here, or text of others made harmless; never both.
TAGS = frozenset(
    {
        *("topic", "language", "question", "known", "report", "gap", "summary"),
        *("evidence", "source", "title", "passage", "heading", "text", "finding", "claim", "quote"),
        *("outline", "section", "description", "previous", "draft", "content", "published"),
        *("tags", "categories", "answer", "problem", "note", "result"),
        *("request", "outcome", "issue", "fix", "feedback", "change"),
    }
)
_NAMES: dict[Language, str] = {"en": "English", "zh": "Chinese (Simplified)", "ja": "Japanese"}

# `<` and what NFKC makes `<`, but before an ASCII sign with which no tag begins: most stop here, soon.
_OPENER = re.compile(r"[<\ufe64\uff1c](?![!-.0-@\[\]-`{-~])")
_TAG_NAME = re.compile("|".join(sorted(TAGS)))
_LONGEST_NAME = max(map(len, TAGS))
_LOOK_AHEAD = 64  # characters behind a `<` in which a tag of ours would begin
_SLASHES = ("/", "\\", "\u2215", "\u2044")
_HARMLESS = "‹"
_MADE_HARMLESS = re.compile(rf"{_HARMLESS}(?=\s*/|\s*(?:{'|'.join(sorted(TAGS))}))")


@lru_cache
def instructions(name: str) -> str:
    """The instruction file of an agent, such as `writer`."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()


def harmless(text: str) -> str:
    """Text of others so that it neither closes a tag of ours nor opens one.

    The `<` of any closing tag, and of an opening tag of ours, becomes `‹`; also when it is full-width, or has
    white space or unseen characters inside. All else stays as it is, so that it can be quoted verbatim.
    """
    return _OPENER.sub(lambda less: _HARMLESS if _begins_tag(text, less.end()) else less[0], text)


def restored(text: str) -> str:
    """What a model said, as it is kept: what it quoted of harmless text, such as `</div>`, is itself again,
    and a citation is no link to elsewhere."""
    return unlinked(_MADE_HARMLESS.sub("<", text))


def tag(name: str, body: str, **attributes: str | int) -> str:
    """An element whose body is text of others. Attributes are made by the program: ids, numbers, states."""
    return _element(name, harmless(body.strip()), attributes)


def element(name: str, *parts: str, **attributes: str | int) -> str:
    """An element whose body is other elements, one below the other."""
    return _element(name, "\n".join(part for part in parts if part), attributes)


def prompt(elements: Iterable[str]) -> str:
    """A whole request: elements one below the other, empty ones left out."""
    return "\n\n".join(part for part in elements if part)


def topic_and_language(topic: str, language: Language) -> str:
    """How every request begins."""
    return prompt([tag("topic", topic), element("language", _NAMES[language])])


def _element(name: str, body: str, attributes: Mapping[str, str | int]) -> str:
    """On one line if its body is."""
    assert name in TAGS, name
    assert all(re.fullmatch(r"[\w .,-]*", str(value)) for value in attributes.values()), attributes
    head = "".join(f' {key}="{value}"' for key, value in attributes.items())
    gap = "\n" if "\n" in body or body.startswith("<") else ""
    return f"<{name}{head}>{gap}{body}{gap}</{name}>"


def _begins_tag(text: str, at: int) -> bool:
    ahead = text[at : at + _LOOK_AHEAD]
    # One sign tells of most texts that no tag begins there, and takes a tenth of the time.
    first = next((seen for char in ahead for seen in _seen(unicodedata.normalize("NFKC", char))), "")
    if first not in _SLASHES and not (first.isascii() and first.isalpha()):
        return False
    plain = "".join(islice(_seen(unicodedata.normalize("NFKC", ahead)), _LONGEST_NAME))
    return plain.startswith(_SLASHES) or _TAG_NAME.match(plain.casefold()) is not None


def _seen(text: str) -> Iterator[str]:
    """All but white space, zero-width characters, soft hyphens and marks of direction (Cf)."""
    return (c for c in text if not c.isspace() and unicodedata.category(c) not in ("Cf", "Cc", "Mn"))
