"""What a method of the Web API is: its arguments, who may call it, and the parts of Slack it works with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.local_slack.app import InstalledApp
from bot.local_slack.callbacks import ResponseUrls, Triggers
from bot.local_slack.events import Events
from bot.local_slack.limits import Refusal
from bot.local_slack.socket_mode import SocketMode
from bot.local_slack.workspace import Channel, Json, Message, Workspace

Kind = Literal["text", "flag", "number", "json", "list"]  # list: an array, or text with commas


@dataclass
class Parts:
    """The parts of this Slack, wired in server.py."""

    workspace: Workspace
    app: InstalledApp
    socket: SocketMode
    events: Events
    triggers: Triggers
    response_urls: ResponseUrls
    share_seconds: float  # how long Slack takes to show an uploaded file


@dataclass(frozen=True)
class Method:
    """One method. Arguments, scopes and tiers are those of Slack's reference.

    `scopes` are all needed; methods that need a scope by kind of channel check it themselves.
    """

    run: Callable[[Parts, Json], Json]
    arguments: dict[str, Kind] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    tier: int = 3
    takes_json: bool = True
    token: Literal["bot", "app", "none"] = "bot"


def need_scope(parts: Parts, scope: str) -> None:
    if scope not in parts.app.scopes:
        raise Refusal("missing_scope", needed=scope, provided=",".join(parts.app.scopes))


READ_SCOPES = {"public": "channels:read", "private": "groups:read", "im": "im:read", "mpim": "mpim:read"}


def visible_channel(parts: Parts, channel_id: str) -> Channel:
    """A channel the bot may know of. Private ones that it is not in do not exist for it."""
    channel = parts.workspace.channels.get(channel_id)
    if channel is None or (channel.kind != "public" and parts.app.user_id not in channel.members):
        raise Refusal("channel_not_found")
    return channel


def own_channel(parts: Parts, channel_id: str) -> Channel:
    """A channel the bot is in."""
    channel = visible_channel(parts, channel_id)
    if parts.app.user_id not in channel.members:
        raise Refusal("not_in_channel")
    return channel


def message_in(parts: Parts, channel: Channel, ts: str) -> Message:
    message = parts.workspace.message(channel.id, ts)
    if message is None or message.subtype == "tombstone":
        raise Refusal("message_not_found")
    return message


def page(found: list[Any], a: Json, default: int = 100) -> tuple[list[Any], Json]:
    """One page of a list, and the `response_metadata` with the cursor of the next."""
    limit = a.get("limit") or default
    if not 1 <= limit <= 1000:
        raise Refusal("invalid_limit")
    cursor = a.get("cursor") or "next:0"
    if not cursor.startswith("next:") or not cursor[5:].isdigit():
        raise Refusal("invalid_cursor")
    start = int(cursor[5:])
    end = start + limit
    following = f"next:{end}" if end < len(found) else ""
    return found[start:end], {"response_metadata": {"next_cursor": following}}
