"""Sources as people see them: the note in a thread, the lists, the question before one is removed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.controls import actions, button, confirm, mrkdwn
from bot.dates import day
from bot.elements import Block, rich_text, section
from bot.fitting import length, shorten, size
from bot.messages import SourceMessage
from bot.texts import say, say_elements, say_plain
from knowledge.language import Language
from knowledge.sources import Source

TO_BASE = "source_to_base"
FORGET = "source_forget"
KEEP = "source_keep"

TITLE_CHARACTERS = 120

# A list: Slack refuses blocks of 13,000 characters of JSON, and splits a text over 4,000.
LIST_CHARACTERS, TEXT_CHARACTERS = 10_500, 3_600

_VALUE = re.compile(r"([0-9]{1,10}):(en|zh|ja)")
_LARGEST_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SourceValue:
    """What a button of a source says: which, and the language of the answer."""

    document_id: int
    language: Language

    def __str__(self) -> str:
        return f"{self.document_id}:{self.language}"


def read_source_value(value: str) -> SourceValue | None:
    """The value of a button, None if this version cannot read it."""
    found = _VALUE.fullmatch(value)
    if found is None or not 0 < int(found[1]) <= _LARGEST_ID:
        return None
    language: Language = "zh" if found[2] == "zh" else "ja" if found[2] == "ja" else "en"
    return SourceValue(int(found[1]), language)


def source_text(message: SourceMessage) -> str:
    """The note of a file that was shared in a thread, as mrkdwn."""
    key, params = _told(message)
    return say(message.language, key, **params)


def source_body(message: SourceMessage) -> list[Block]:
    """The note with its buttons: what is the article's alone may go into the base, or out."""
    language = message.language
    key, params = _told(message)
    blocks: list[Block] = [rich_text(section(say_elements(language, key, params)))]
    if message.state == "own":
        value = SourceValue(message.document_id, language)
        blocks.append(actions([button(language, TO_BASE, value), _forget(value)]))
    return blocks


def titled(title: str, link: str | None) -> dict[str, str | int]:
    """The parameters by which a sentence names a source."""
    return {"title": shorten(title, TITLE_CHARACTERS), "link": link or ""}


def list_of_sources(
    language: Language, heading: str, sources: Sequence[tuple[Source, str]], *, more: bool
) -> tuple[str, list[Block]]:
    """Sources a line each, with their marks ("[S1]" or ""), as text and as blocks with buttons.

    As many as a message holds; `more`: it is known that there are more.
    """
    blocks: list[Block] = [{"type": "section", "text": mrkdwn(heading)}]
    lines = [heading]
    for source, mark in sources:
        line = _line(language, source, mark)
        forget = _forget(SourceValue(source.document_id, language))
        block = {"type": "section", "text": mrkdwn(line), "accessory": forget}
        if size([*blocks, block]) > LIST_CHARACTERS or length("\n".join([*lines, line])) > TEXT_CHARACTERS:
            more = True
            break
        lines.append(line)
        blocks.append(block)
    if more:
        lines.append(say(language, "sources_more"))
        blocks.append({"type": "section", "text": mrkdwn(lines[-1])})
    return "\n".join(lines), blocks


def forget_question(language: Language, source: Source) -> tuple[str, list[Block]]:
    """`/article forget ID` asks once more, by two buttons."""
    text = say(language, "forget_question", id=source.document_id, **titled(source.title, source.url))
    value = SourceValue(source.document_id, language)
    remove = {**button(language, FORGET, value), "style": "danger"}
    return text, [
        {"type": "section", "text": mrkdwn(text)},
        actions([remove, button(language, KEEP, value)]),
    ]


def _told(message: SourceMessage) -> tuple[str, dict[str, str | int]]:
    params = titled(message.title, message.link) | {"shared_by": message.shared_by}
    match message.state, message.by:
        case "own", _:
            return "source_shared", params
        case "base", None:
            return "source_shared_known", params
        case state, by:
            return f"source_shared_{state}", params | {"by": by or ""}


def _line(language: Language, source: Source, mark: str) -> str:
    params = titled(f"{mark} {source.title}".strip(), source.url) | {
        "id": source.document_id,
        "day": day(language, source.added_at, with_year=True),
    }
    if source.added_by is not None:
        return say(language, "source_line", **params, by=source.added_by, where=source.added_from or "")
    return say(language, "source_line_server" if source.article_id is None else "source_line_found", **params)


def _forget(value: SourceValue) -> dict[str, object]:
    language = value.language
    asked = confirm(
        title=say_plain(language, "confirm_forget_title", id=value.document_id),
        text=say_plain(language, "confirm_forget"),
        yes=say_plain(language, "confirm_forget_yes"),
        no=say_plain(language, "button_source_keep"),
    )
    return {**button(language, FORGET, value), "confirm": asked}
