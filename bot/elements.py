"""What rich_text blocks are made of, and how long ones are cut into pieces that Slack takes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from bot.fitting import CUT_MARK, clean, cut_at, is_blank, length, size, split

Element = dict[str, Any]
Block = dict[str, Any]

PIECE_CHARACTERS = 2_800  # JSON of one element or block, so that blocks pack well into a message
URL_CHARACTERS = 2_000  # longer than any that people share; Slack takes 3,000

_UNSAFE_IN_URL = re.compile(r"[\x00-\x20<>|\x7f-\x9f]")


def is_url(url: str) -> bool:
    """Whether a link may lead there: http, https with a host, or mailto."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    known = bool(parts.hostname) if parts.scheme in ("http", "https") else parts.scheme == "mailto"
    return known and length(url) <= URL_CHARACTERS and not _UNSAFE_IN_URL.search(url)


def text_element(text: str, **style: bool) -> Element:
    """A text element of a rich_text block: shown as it is, whatever it says. `style`: bold, italic, …"""
    return {"type": "text", "text": clean(text), **({"style": style} if style else {})}


def link_element(url: str, text: str, **style: bool) -> Element:
    """A link, or only its text where `is_url` does not let it lead anywhere."""
    if not is_url(url):
        return text_element(text, **style)
    return {"type": "link", "url": url, "text": clean(text), **({"style": style} if style else {})}


def rich_text(*elements: Element) -> Block:
    return {"type": "rich_text", "elements": list(elements)}


def section(elements: Sequence[Element]) -> Element:
    return {"type": "rich_text_section", "elements": list(elements)}


def bold(elements: Sequence[Element]) -> list[Element]:
    return [{**element, "style": {**element.get("style", {}), "bold": True}} for element in elements]


def plain(elements: Sequence[Element]) -> str:
    """What elements say, without style and links."""
    return "".join(element.get("text", "") for element in elements)


def tidy(elements: Iterable[Element]) -> list[Element]:
    """Neighbouring texts of one style joined, empty ones gone."""
    tidied: list[Element] = []
    for element in elements:
        last = tidied[-1] if tidied else {}
        if element["type"] == last.get("type") == "text" and element.get("style") == last.get("style"):
            tidied[-1] = {**last, "text": last["text"] + element["text"]}
        elif element["text"]:
            tidied.append(element)
    return tidied


def joined(separator: str, parts: Sequence[Sequence[Element]]) -> list[Element]:
    """The parts that have something to show, with a separator between them."""
    elements: list[Element] = []
    for part in parts:
        elements += [text_element(separator), *part] if elements and part else part
    return elements


def preformatted(text: str) -> Element:
    return {"type": "rich_text_preformatted", "elements": [text_element(text.rstrip("\n") or " ")]}


def fit(elements: Sequence[Element], room: int) -> list[Element]:
    """The elements, or the beginning of them and "…", in at most `room` JSON characters (at least 100)."""
    if size(elements) <= room:
        return list(elements)
    mark = {"type": "text", "text": CUT_MARK}
    head, _ = _take(elements, room - size([mark]) - 2)
    if head and "text" in head[-1]:
        head[-1] = {**head[-1], "text": head[-1]["text"].rstrip()}
    return [*(element for element in head if element.get("text") != ""), mark]


def cut_up(elements: Sequence[Element], room: int) -> Iterator[list[Element]]:
    """All the elements in pieces of at most `room` JSON characters: more than a single link takes."""
    while elements:
        piece, elements = _take(elements, room)
        yield piece


def _take(elements: Sequence[Element], room: int) -> tuple[list[Element], list[Element]]:
    """The beginning that has room, and the rest; a text is cut where `cut_at` says."""
    room -= 2  # brackets
    for index, element in enumerate(elements):
        needed = size(element) + 2
        if needed <= room:
            room -= needed
            continue
        head, rest = list(elements[:index]), list(elements[index:])
        text = element.get("text", "")
        at = _fitting(text, room - (needed - size(text) + 2))
        if at:
            head.append({**element, "text": text[:at]})
            rest[0] = {**element, "text": text[at:]}
        return head, rest
    return list(elements), []


def _fitting(text: str, room: int) -> int:
    """Where to cut so that what stands before is at most `room` JSON characters; 0: nowhere."""
    limit = min(room, length(text) - 1)
    while limit > 0:
        at = cut_at(text, limit)
        if size(text[:at]) - 2 <= room:
            return at
        limit = limit * 3 // 4
    return 0


def rich_text_blocks(elements: Sequence[Element]) -> Iterator[Block]:
    """Blocks of at most `PIECE_CHARACTERS` that hold the elements, long ones in pieces."""
    block: list[Element] = []
    for piece in (piece for element in elements for piece in _pieces(element)):
        longer = [*block[:-1], *_merged(block[-1], piece)] if block else [piece]
        if block and size(rich_text(*longer)) > PIECE_CHARACTERS:
            yield rich_text(*block)
            longer = [piece]
        block = longer
    if block:
        yield rich_text(*block)


def _pieces(element: Element) -> Iterator[Element]:
    """The element, or where it is too long several that say the same: a fence is closed and opened again."""
    room = PIECE_CHARACTERS - 200
    match element["type"]:
        case "rich_text_preformatted":
            yield from map(preformatted, _whole_lines(element["elements"][0]["text"], room // 2))
        case "rich_text_list":
            first, *rest = cut_up(element["elements"][0]["elements"], room)
            yield {**element, "elements": [section(first)]}
            yield from map(section, rest)
        case _:
            for piece in cut_up(element["elements"], room):
                if not is_blank(plain(piece)):
                    yield {**element, "elements": piece}


def _whole_lines(text: str, limit: int) -> Iterator[str]:
    """The text in pieces that end where lines end; only a line longer than `limit` is cut itself."""
    piece = ""
    for line in text.splitlines(keepends=True):
        if length(piece) + length(line) > limit and piece:
            yield piece
            piece = ""
        *full, line = split(line, limit)
        yield from full
        piece += line
    yield piece


def _merged(before: Element, after: Element) -> tuple[Element, ...]:
    """Two neighbours as one where Slack has one: paragraphs with an empty line between, items of one list."""
    kinds = before["type"], after["type"]
    if kinds == ("rich_text_section", "rich_text_section"):
        return (section(tidy([*before["elements"], text_element("\n\n"), *after["elements"]])),)
    if kinds == ("rich_text_list", "rich_text_list"):
        ends = before.get("offset", 0) + len(before["elements"])
        goes_on = after["style"] == "bullet" or after.get("offset") == ends
        if goes_on and (before["style"], before["indent"]) == (after["style"], after["indent"]):
            return ({**before, "elements": [*before["elements"], *after["elements"]]},)
    if after["type"] == "rich_text_section":
        # Slack sets no space below lists, quotes and code by itself.
        return before, section([text_element("\n"), *after["elements"]])
    return before, after
