"""What a message in Slack holds that can be learnt: its links, its files, or else its text. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from bot.fitting import shorten
from bot.slack_files import SharedFile
from bot.slack_text import readable

TITLE_CHARACTERS = 80

_LINK = re.compile(r"<(https?://[^<>|\s]+)(?:\|[^<>\n]*)?>")
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>\n]*)?>")
_MARKS, _ENDS = " \t#>*_~`•-", " \t*_~`"  # around a first line, which are no part of a title
_SLACKS_HOST = re.compile(r"(?:.+\.)?slack\.com")


@dataclass(frozen=True, slots=True)
class SharedMessage:
    """`author` is a person's id, None for a bot, which may have a `name`; `text` as Slack sends it."""

    channel_id: str
    ts: str
    thread_ts: str | None
    is_own: bool  # of this very bot
    author: str | None
    name: str
    text: str
    links: tuple[str, ...]
    files: tuple[SharedFile, ...]


def read_message(message: Mapping[str, Any], *, channel_id: str, bot_user_id: str) -> SharedMessage:
    """A message as shortcuts and events bring it. Links into Slack are left out: only people get there."""
    text = str(message.get("text") or "").strip()
    # A message that is passed on without a word is what somebody else has said.
    passed_on = (
        []
        if text
        else [str(each["author_id"]) for each in message.get("attachments") or [] if each.get("author_id")]
    )
    text = text or "\n\n".join(_of_attachments(message))
    author = None if message.get("bot_id") else message.get("user")
    found = [url.replace("&amp;", "&") for url in _LINK.findall(text)]
    found += _links_of(message.get("blocks") or [])
    return SharedMessage(
        channel_id=channel_id,
        ts=str(message["ts"]),
        thread_ts=message.get("thread_ts"),
        is_own=bot_user_id in (message.get("user"), *passed_on),
        author=passed_on[0] if passed_on else author,
        name=str(message.get("username") or (message.get("bot_profile") or {}).get("name") or ""),
        text=text,
        links=tuple(dict.fromkeys(url for url in found if not _in_slack(url))),
        files=files_of(message),
    )


def files_of(message: Mapping[str, Any]) -> tuple[SharedFile, ...]:
    """The files of a message, by the names that people see."""
    return tuple(
        SharedFile(file["id"], str(file.get("name") or file.get("title") or file["id"]))
        for file in message.get("files") or []
        if file.get("id")
    )


def mentioned(text: str) -> list[str]:
    """Ids of the people whom a message names."""
    return list(dict.fromkeys(_MENTION.findall(text)))


def has_words(text: str) -> bool:
    """Whether there is anything to learn from."""
    return any(letter.isalnum() for letter in readable(text))


def as_document(message: SharedMessage, *, by: str, names: Mapping[str, str]) -> bytes:
    """The message as a Markdown document: its first line is the title, and who wrote it when stands above it.

    `names` are those of the people whom it names, by their ids.
    """
    text = readable(_MENTION.sub(lambda one: f"@{names.get(one[1], one[1])}", message.text)).strip()
    first = next(filter(has_words, text.splitlines()), "").lstrip(_MARKS).rstrip(_ENDS)
    day = f"{datetime.fromtimestamp(float(message.ts), UTC):%Y-%m-%d}"
    title = json.dumps(shorten(first, TITLE_CHARACTERS), ensure_ascii=False)
    return f"---\ntitle: {title}\ndate: {day}\n---\n{by} ({day}):\n\n{text}\n".encode()


def _of_attachments(message: Mapping[str, Any]) -> Iterator[str]:
    """Some apps say in attachments what they have to say."""
    for attachment in message.get("attachments") or []:
        parts = [attachment.get(key) for key in ("pretext", "title", "text")]
        said = "\n".join(str(part) for part in parts if part) or str(attachment.get("fallback") or "")
        if said:
            yield said


def _links_of(blocks: Any) -> Iterator[str]:
    """The links of rich_text blocks, however deep they stand."""
    if isinstance(blocks, list):
        for block in blocks:
            yield from _links_of(block)
    elif isinstance(blocks, dict):
        url = blocks.get("url")
        if blocks.get("type") == "link" and isinstance(url, str) and url.startswith(("http://", "https://")):
            yield url
        yield from _links_of(blocks.get("elements"))


def _in_slack(url: str) -> bool:
    try:
        return _SLACKS_HOST.fullmatch(urlsplit(url).hostname or "") is not None
    except ValueError:
        return False
