"""Where a quote stands in a text: forms of characters (NFKC) and white space do not count."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from agents.contracts import SourcePassage

# Signs that models and editors exchange for one another; NFKC keeps them apart.
_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        "‹": "<",  # a tag in the text was made harmless in the prompt
    }
)
_QUOTATION_MARKS = "\"'「」『』《》"
_SHORTEST = 4  # characters that are not white space: less is found everywhere and supports nothing


@dataclass(frozen=True)
class Located:
    """A quote as the passage has it, verbatim."""

    passage: SourcePassage
    quote: str


def locate(quote: str, passages: Iterable[SourcePassage]) -> Located | None:
    """The first of the passages that contains the quote, or None."""
    for passage in passages:
        if (span := find(quote, passage.text)) is not None:
            return Located(passage, passage.text[span[0] : span[1]])
    return None


def find(quote: str, text: str) -> tuple[int, int] | None:
    """Where the quote stands in the text: start and end, or None.

    White space counts nowhere, since a line break in Chinese or Japanese stands for none and in English for
    one. Quotation marks around the whole and dots of omission at its ends are not part of a quote.
    """
    whole, origins = _folded_text(text)
    said = "".join(_folded(character) for character in quote)
    for wanted in (said, bare := said.strip(_QUOTATION_MARKS), bare.strip(".").strip(_QUOTATION_MARKS)):
        if len(wanted) < _SHORTEST:
            continue
        start = whole.find(wanted)
        while start >= 0:
            last, end = start + len(wanted) - 1, origins[start + len(wanted) - 1] + 1
            # Whole letters only: `cafe` does not stand in `café`, in one character or with its accent behind.
            cut = origins[last + 1 : last + 2] == [origins[last]]
            if not cut and not unicodedata.combining(text[end : end + 1] or " "):
                return origins[start], end
            start = whole.find(wanted, start + 1)
    return None


@lru_cache(maxsize=512)  # the same few passages are searched for every quote of an article
def _folded_text(text: str) -> tuple[str, list[int]]:
    """What counts of a text, and for each character of it the place of the one it was made from."""
    folded: list[str] = []
    origins: list[int] = []
    for at, character in enumerate(text):
        for piece in _folded(character):
            folded.append(piece)
            origins.append(at)
    return "".join(folded), origins


@lru_cache(maxsize=8_192)
def _folded(character: str) -> str:
    """What counts of a character; nothing of white space and of characters that nobody sees.

    Decomposed (NFKD): two texts are the same under NFKC if they are under NFKD, and this one can be had
    character by character, so that each keeps its place.
    """
    if character.isspace() or unicodedata.category(character) in ("Cf", "Cc"):
        return ""
    return "".join(unicodedata.normalize("NFKD", character.translate(_SAME)).split())
