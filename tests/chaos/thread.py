"""What people see in the end, without what differs from run to run for good reasons: times and links."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message

Shown = dict[str, Any]


def shown_thread(slack: LocalSlack, channel: Channel) -> list[Shown]:
    """Every message of the channel and its threads, oldest first: who, text, blocks, files."""
    messages = slack.workspace.all_messages(channel.id)
    numbers = {message.ts: f"«message {at}»" for at, message in enumerate(messages, start=1)}
    return [_shown(slack, message, numbers) for message in messages]


def differences(expected: Sequence[Shown], found: Sequence[Shown]) -> list[str]:
    """A sentence for each message that is missing, too many or other than it should be."""
    told = []
    wanted, there = (
        [json.dumps(one, sort_keys=True, ensure_ascii=False) for one in all_] for all_ in (expected, found)
    )
    for message, text in zip(expected, wanted, strict=True):
        if there.count(text) < wanted.count(text):
            told.append(f"missing: {_brief(message)}")
    for message, text in zip(found, there, strict=True):
        if there.count(text) > wanted.count(text):
            told.append(f"too many, or other than it should be: {_brief(message)}")
    if not told and wanted != there:
        told.append(f"in another order: {' | '.join(_brief(message) for message in found)}")
    return told


def _shown(slack: LocalSlack, message: Message, numbers: Mapping[str, str]) -> Shown:
    files = [slack.workspace.files[file] for file in message.files]
    shown = {
        "by": message.user,
        "thread": numbers.get(message.thread_ts or ""),
        "text": message.text,
        "blocks": [_without_ids(block) for block in message.blocks],
        "files": [[file.name, file.title, (file.content or b"").decode()] for file in files],
    }
    text = json.dumps(shown, ensure_ascii=False)
    for ts, number in numbers.items():
        text = text.replace(ts, number).replace(ts.replace(".", ""), number)
    text = re.sub(r"/F0LOCAL\d+/", "/«file»/", text)
    again: Shown = json.loads(text)
    return again


def _without_ids(value: Any) -> Any:
    """Slack numbers blocks by itself."""
    if isinstance(value, dict):
        return {key: _without_ids(inner) for key, inner in value.items() if key != "block_id"}
    if isinstance(value, list):
        return [_without_ids(inner) for inner in value]
    return value


def _brief(message: Shown) -> str:
    return " ".join(str(message["text"] or message["files"] or "a message without text").split())[:120]
