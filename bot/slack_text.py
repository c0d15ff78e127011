"""What Slack's way of writing a message stands for: entities and escapes to the text that people see."""

import re
import unicodedata

# Characters that show nothing: zero width, direction marks, variation selectors, the Hangul fillers (letters
# to Unicode). Keyboards, copies from web pages and autocorrection leave them around words.
_INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
BLANK = rf"[\s{_INVISIBLE}]"
INVISIBLE = re.compile(f"[{_INVISIBLE}]")
_ENTITY = re.compile(r"<([^<>|\n]+)(?:\|([^<>\n]*))?>")


def readable(text: str) -> str:
    """The text as its author saw it: links by label and address, mentions as inert `@…` and `#…`.

    White space and line ends stay; control characters and lone surrogates, which PostgreSQL refuses, go. What
    people typed as `<` arrives escaped, so every bare `<…>` is Slack's own (docs: formatting text).
    """
    shown = _ENTITY.sub(lambda entity: _shown(entity[1], entity[2] or ""), text)
    # `&amp;` last: `&amp;lt;` is what somebody who typed `&lt;` meant.
    shown = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return "".join(
        letter for letter in shown if letter in "\n\t" or unicodedata.category(letter) not in "CcCs"
    )


def plain(text: str) -> str:
    """For comparing words: NFKC (full-width forms, no-break spaces), nothing invisible, any case the same."""
    return INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()


def _shown(target: str, label: str) -> str:
    sigil, name = target[0], target[1:]
    if sigil in "@#":
        return sigil + (label or name)
    if sigil == "!":
        # <!here>, <!subteam^S1|@editors>, <!date^1700000000^{date}|14 November>
        return label or "@" + name.removeprefix("subteam^")
    address = target.removeprefix("mailto:").removeprefix("tel:")
    # Slack links what looks like an address by itself: then the label is what was typed.
    return label or address if not label or address.endswith(label) else f"{label} ({address})"
