"""Buttons and texts as Block Kit has them."""

from typing import Any

from bot.elements import Block
from bot.fitting import shorten
from bot.texts import say_plain
from knowledge.language import Language

CONFIRM_TITLE, CONFIRM_TEXT, CONFIRM_BUTTON = 100, 300, 30  # characters


def button(
    language: Language, action_id: str, value: object, *, label: str | None = None, **params: int
) -> dict[str, Any]:
    return {
        "type": "button",
        "action_id": action_id,
        "text": plain_text(say_plain(language, label or f"button_{action_id}", **params)),
        "value": str(value),
    }


def confirm(*, title: str, text: str, yes: str, no: str) -> dict[str, Any]:
    """What a button asks before it counts as pressed; plain texts, cut to what Slack takes."""
    return {
        "title": plain_text(shorten(title, CONFIRM_TITLE)),
        "text": plain_text(shorten(text, CONFIRM_TEXT)),
        "confirm": plain_text(shorten(yes, CONFIRM_BUTTON)),
        "deny": plain_text(shorten(no, CONFIRM_BUTTON)),
    }


def actions(buttons: list[dict[str, Any]]) -> Block:
    return {"type": "actions", "elements": buttons}


def context(text: str) -> Block:
    return {"type": "context", "elements": [mrkdwn(text)]}


def mrkdwn(text: str) -> dict[str, Any]:
    """`verbatim`: Slack makes no links of what only looks like one."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def plain_text(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}
