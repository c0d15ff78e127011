"""Whether an answer that was put into another shape says only what was said."""

import html
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

_LABEL = 12  # characters: a shorter text may be a choice, or the formatter's "none"
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\[ntr]")


def adds_nothing(answer: BaseModel, said: str) -> bool:
    """Whether each text of an answer, letters and digits alone, stands in what was said.

    What was said may be JSON, YAML, XML or Markdown: its escapes are undone, its marks count nowhere.
    """
    whole = _folded(said)
    return all(_folded(text) in whole for text in _texts(answer.model_dump()) if len(text) > _LABEL)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inside in value.values():
            yield from _texts(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _texts(inside)


def _folded(text: str) -> str:
    plain = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else " ", html.unescape(text))
    return "".join(c for c in unicodedata.normalize("NFKC", plain).casefold() if c.isalnum())
