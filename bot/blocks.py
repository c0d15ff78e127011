"""A message of `bot.messages` as what Slack's methods take: blocks, buttons, the modal, lists and help."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.controls import actions, button, confirm, context, mrkdwn, plain_text
from bot.digest_blocks import digest_body, digest_text
from bot.elements import Block, fit, plain, rich_text, section, text_element
from bot.fitting import CUT_MARK, clean, is_blank, length, shorten, size
from bot.layouts import draft_body, outline_body, review_line
from bot.messages import (
    AnyMessage,
    DigestMessage,
    DraftMessage,
    FileMessage,
    NoteMessage,
    OutlineMessage,
    SourceMessage,
    StatusMessage,
)
from bot.render import escape, inline
from bot.source_blocks import source_body, source_text
from bot.status_line import status_line
from bot.texts import say, say_elements, say_plain
from knowledge.article import FOLLOWS, Article, On, Status
from knowledge.language import Language

# Action ids of the buttons; the modal's callback id is that of the button which opens it.
APPROVE = "approve"
APPLY_REVIEW = "apply_review"
REQUEST_CHANGES = "request_changes"
CANCEL = "cancel"
RETRY = "retry"
START_ANYWAY = "start_anyway"

REQUEST_FIELD = "request"  # block id and action id of the modal's field

MESSAGE_CHARACTERS = 11_000  # JSON of all blocks; Slack refuses about 13,000
TEXT_CHARACTERS = 3_900  # over 4,000 Slack splits a text, and refuses to edit it
SECTION_CHARACTERS = 3_000
VALUE_CHARACTERS = 2_000  # of a button
REQUEST_CHARACTERS = 3_000  # of a field in a modal
SUMMARY_CHARACTERS = 300  # of what a notification tells of a message
TOPIC_CHARACTERS = 400
LISTED_TOPIC_CHARACTERS = 80

_VALUE = re.compile(r"([0-9]{1,10}):(outline|draft|-):([0-9]{1,9}):(en|zh|ja)")
_LARGEST_ID = 2**31 - 1


class BadButton(Exception):
    """A button's value that this version cannot read; the message is for the person who clicked (mrkdwn)."""

    def __init__(self) -> None:
        super().__init__(say("en", "stale_button"))


@dataclass(frozen=True, slots=True)
class Drawn:
    """`text` is what notifications and screen readers tell (mrkdwn); people in Slack see `blocks`."""

    text: str
    blocks: list[Block]


@dataclass(frozen=True, slots=True)
class ButtonValue:
    """The article, and what a button was shown for: `on` is None where it stands for the article itself."""

    article_id: int
    on: On | None
    version: int
    language: Language

    def __str__(self) -> str:
        return f"{self.article_id}:{self.on or '-'}:{self.version}:{self.language}"


class Offer(BaseModel):
    """What "Start another one" starts; `id` names the command that was answered with it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    topic: str
    language: Language
    mode: str
    id: str


class Offered(Protocol):
    """What an offer needs to know of the request it is made for."""

    @property
    def topic(self) -> str: ...
    @property
    def language(self) -> Language: ...
    @property
    def mode(self) -> str: ...
    @property
    def claim(self) -> str: ...


def read_value(value: str) -> ButtonValue:
    """The value of a button, or the `private_metadata` of the modal it opened; raises `BadButton`."""
    found = _VALUE.fullmatch(value)
    if found is None or not 0 < int(found[1]) <= _LARGEST_ID:
        raise BadButton
    on: On | None = None if found[2] == "-" else "outline" if found[2] == "outline" else "draft"
    language: Language = "zh" if found[4] == "zh" else "ja" if found[4] == "ja" else "en"
    return ButtonValue(int(found[1]), on, int(found[3]), language)


def read_offer(value: str) -> Offer:
    """The value of "Start another one"; raises `BadButton`."""
    try:
        return Offer.model_validate_json(value)
    except ValidationError:
        raise BadButton from None


def draw(message: AnyMessage) -> Drawn:
    """A message as Slack takes it, whatever stands in it; raises `TextError` for a note that is unknown.

    A file is uploaded, and not drawn: its `text` is the comment that may go with it.
    """
    match message:
        case StatusMessage():
            return _status(message)
        case OutlineMessage():
            return _outline(message)
        case DraftMessage():
            return _draft(message)
        case NoteMessage():
            return _note(message)
        case FileMessage():
            text = say(message.language, "text_file", version=message.version, title=_summary(message.title))
            return Drawn(text, [])
        case SourceMessage():
            return Drawn(source_text(message), source_body(message))
        case DigestMessage():
            return Drawn(digest_text(message), digest_body(message, MESSAGE_CHARACTERS))


def _status(message: StatusMessage) -> Drawn:
    language = message.language
    line = status_line(message)
    value = ButtonValue(message.article_id, None, 0, language)
    # Failed, or at a draft that is not what was asked for, since the budget was used up.
    stopped = message.error is not None and message.status in (Status.FAILED, Status.AWAITING_APPROVAL)
    buttons = [button(language, RETRY, value)] if stopped else []
    if Status.CANCELLED in FOLLOWS[message.status]:
        buttons.append(_cancel(value))
    about = say_elements(
        language,
        "about",
        {
            "id": message.article_id,
            "by": message.requested_by,
            "language": language,
            "mode": message.mode,
        },
    )
    # Slack refuses an empty text, and a topic of nothing but invisible characters would be one.
    topic = CUT_MARK if is_blank(clean(message.topic)) else shorten(message.topic, TOPIC_CHARACTERS)
    state: Block = {"type": "section", "text": mrkdwn(line)}
    if len(buttons) == 1:
        state["accessory"] = buttons[0]
    return Drawn(
        f"{escape(_summary(message.topic))} · {line}",
        [
            rich_text(section([text_element(topic, bold=True), text_element("\n"), *about])),
            state,
            *([actions(buttons)] if len(buttons) > 1 else []),
        ],
    )


def _outline(message: OutlineMessage) -> Drawn:
    language = message.language
    value = ButtonValue(message.article_id, "outline", message.version, language)
    hint = say(language, "hint_outline", section=_example(message))
    decision = _decision(message, value, hint=hint, review=False)
    between = say_plain(language, "between_headings")
    headings = between.join(_summary(plain(inline(planned.heading))) for planned in message.sections[:10])
    text = say(
        language,
        "text_outline" if message.asks else "text_outline_shown",
        version=message.version,
        id=message.article_id,
        sections=_summary(headings),
    )
    return Drawn(text, [*outline_body(message, MESSAGE_CHARACTERS - size(decision)), *decision])


def _draft(message: DraftMessage) -> Drawn:
    language, issues = message.language, message.review is not None and bool(message.review.issues)
    value = ButtonValue(message.article_id, "draft", message.version, language)
    key = "hint_draft" if issues else "hint_draft_clean"
    hint = say(language, key, version=message.version, section=_example(message))
    decision = _decision(message, value, hint=hint, review=issues)
    text = say(
        language,
        "text_draft" if message.asks else "text_draft_shown",
        version=message.version,
        id=message.article_id,
        title=_summary(plain(inline(message.title))),
        review=review_line(message.review, language),
    )
    return Drawn(text, [*draft_body(message, MESSAGE_CHARACTERS - size(decision)), *decision])


def _decision(
    message: OutlineMessage | DraftMessage, value: ButtonValue, *, hint: str, review: bool
) -> list[Block]:
    """The end of a message: words and buttons while people are asked, else who decided or what follows."""
    language = message.language
    if message.decided is not None:
        return [context(say(language, f"decided_{message.decided.action}", by=message.decided.by))]
    if not message.asks:
        return [context(say(language, f"hint_{value.on}_auto"))]
    approve = button(language, APPROVE, value, label=f"button_approve_{value.on}", version=message.version)
    buttons = [
        {**approve, "style": "primary"},
        *([button(language, APPLY_REVIEW, value)] if review else []),
        button(language, REQUEST_CHANGES, value),
        _cancel(value),
    ]
    return [context(hint), actions(buttons)]


def _example(message: OutlineMessage | DraftMessage) -> int:
    """A number of a section that is there, for the words to reply."""
    return min(3, max(1, len(message.sections)))


def _note(message: NoteMessage) -> Drawn:
    language, key, params = message.language, message.key, message.params
    text = say(language, key, **params)
    if length(text) > TEXT_CHARACTERS:
        # Cut as plain text: mrkdwn could be cut inside an entity.
        text = escape(shorten(say_plain(language, key, **params), TEXT_CHARACTERS // 6))
    elements = fit(say_elements(language, key, params), MESSAGE_CHARACTERS - 200)
    return Drawn(text, [rich_text(section(elements))])


def request_changes_view(article_id: int, on: On, version: int, language: Language) -> dict[str, Any]:
    """The modal of "Request changes…", with one field."""
    return {
        "type": "modal",
        "callback_id": REQUEST_CHANGES,
        "private_metadata": str(ButtonValue(article_id, on, version, language)),
        "title": plain_text(say_plain(language, "modal_title", on=on, version=version)),
        "submit": plain_text(say_plain(language, "modal_submit")),
        "close": plain_text(say_plain(language, "modal_close")),
        "blocks": [
            {
                "type": "input",
                "block_id": REQUEST_FIELD,
                "label": plain_text(say_plain(language, "modal_label")),
                "hint": plain_text(say_plain(language, "modal_hint")),
                "element": {
                    "type": "plain_text_input",
                    "action_id": REQUEST_FIELD,
                    "multiline": True,
                    "max_length": REQUEST_CHARACTERS,
                    "focus_on_load": True,
                },
            }
        ],
    }


def request_changes_errors(view: dict[str, Any]) -> dict[str, str]:
    """What stands below the field when somebody sends white space; raises `BadButton`."""
    return {REQUEST_FIELD: say_plain(read_value(view["private_metadata"]).language, "modal_empty")}


def offer_anyway(text: str, offered: Offered) -> list[Block]:
    """An answer to `/article` (mrkdwn) with the button that starts the article all the same."""
    offer = Offer(topic=offered.topic, language=offered.language, mode=offered.mode, id=offered.claim)
    blocks: list[Block] = [{"type": "section", "text": mrkdwn(shorten(text, SECTION_CHARACTERS))}]
    value = json.dumps(offer.model_dump(), ensure_ascii=False)
    if length(value) <= VALUE_CHARACTERS:
        blocks.append(actions([button(offered.language, START_ANYWAY, value)]))
    return blocks


def help_text(language: Language) -> str:
    """`/article help` as mrkdwn."""
    return say(language, "help")


def list_text(language: Language, articles: Sequence[Article]) -> str:
    """Articles a line each, as mrkdwn under 4,000 characters; those without room are counted."""
    if not articles:
        return say(language, "list_empty")
    lines: list[str] = []
    for article in articles:
        line = say(
            language,
            "list_line",
            id=article.id,
            topic=shorten(article.topic, LISTED_TOPIC_CHARACTERS),
            link=article.permalink or "",
            status=article.status,
            by=article.requested_by,
        )
        if length("\n".join([*lines, line])) > TEXT_CHARACTERS - 100:
            lines.append(say(language, "list_more", count=len(articles) - len(lines)))
            break
        lines.append(line)
    return "\n".join(lines)


def _summary(text: str) -> str:
    return shorten(" ".join(text.split()), SUMMARY_CHARACTERS)


def _cancel(value: ButtonValue) -> dict[str, Any]:
    """The one button that cannot be taken back asks once more."""
    language = value.language
    asked = confirm(
        title=say_plain(language, "confirm_cancel_title", id=value.article_id),
        text=say_plain(language, "confirm_cancel"),
        yes=say_plain(language, "confirm_yes"),
        no=say_plain(language, "confirm_no"),
    )
    return {**button(language, CANCEL, value), "confirm": asked}
