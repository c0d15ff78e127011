"""Which events the app is sent, and how often: each until it is acknowledged, at most four times."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from bot.local_slack.app import InstalledApp
from bot.local_slack.payloads import CHANNEL_TYPES, event_callback, message_event, message_json
from bot.local_slack.socket_mode import SocketMode
from bot.local_slack.workspace import Json, Message, Workspace

# kind of channel: (the event to subscribe to, the scope it needs)
MESSAGE_EVENTS = {
    "public": ("message.channels", "channels:history"),
    "private": ("message.groups", "groups:history"),
    "im": ("message.im", "im:history"),
    "mpim": ("message.mpim", "mpim:history"),
}


@dataclass
class SentEvent:
    """One event and what became of it."""

    payload: Json
    attempts: int = 0
    acked: bool = False

    @property
    def event(self) -> Json:
        body: Json = self.payload["event"]
        return body

    @property
    def id(self) -> str:
        return str(self.payload["event_id"])


class Events:
    """Turns what happens in the workspace into events for the app."""

    def __init__(
        self, workspace: Workspace, app: InstalledApp, socket: SocketMode, retry_after: Sequence[float]
    ) -> None:
        self.workspace, self.app, self.socket = workspace, app, socket
        self.retry_after = retry_after  # seconds before each retry, counted from the failure before it
        self.sent: list[SentEvent] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def posted(self, message: Message) -> None:
        """A message is new: `message`, and `app_mention` beside it when it names the bot.

        The two have different event_ids, as in Slack. A reply also changes its parent.
        """
        event = message_event(self.workspace, self.app, message)
        if self._sees_messages(message.channel):
            self.emit(event)
        if self._is_mention(message):
            dropped = ("subtype", "channel_type", "parent_user_id", "root")
            mention = {key: value for key, value in event.items() if key not in dropped}
            self.emit(mention | {"type": "app_mention"})
        if message.is_reply and (parent := self.workspace.message(message.channel, message.thread_ts or "")):
            self.changed(parent, parent)

    def changed(self, before: Message, after: Message) -> None:
        """`message_changed`; Slack sends it for edits, new replies and link previews alike."""
        if self._sees_messages(after.channel):
            old, new = (message_json(self.workspace, self.app, m, metadata=True) for m in (before, after))
            self.emit(self._about(after, "message_changed") | {"message": new, "previous_message": old})

    def remove(self, message: Message) -> None:
        """Take a message away: `message_deleted`, or `message_changed` when a tombstone stays."""
        tombstone = self.workspace.remove(message)
        if tombstone:
            self.changed(message, tombstone)
        elif self._sees_messages(message.channel):
            old = message_json(self.workspace, self.app, message, metadata=True)
            about = self._about(message, "message_deleted")
            self.emit(about | {"previous_message": old, "deleted_ts": message.ts})

    def _about(self, message: Message, subtype: str) -> Json:
        ts = self.workspace.next_ts()
        kind = CHANNEL_TYPES[self.workspace.channels[message.channel].kind]
        return {
            "type": "message",
            "subtype": subtype,
            "channel": message.channel,
            "hidden": True,
            "ts": ts,
            "event_ts": ts,
            "channel_type": kind,
        }

    def _sees_messages(self, channel_id: str) -> bool:
        channel = self.workspace.channels[channel_id]
        event, scope = MESSAGE_EVENTS[channel.kind]
        return self.app.user_id in channel.members and event in self.app.events and scope in self.app.scopes

    def _is_mention(self, message: Message) -> bool:
        """Slack sends no app_mention in direct messages, and none for what the bot itself says."""
        channel = self.workspace.channels[message.channel]
        return (
            f"<@{self.app.user_id}>" in message.text
            and message.user != self.app.user_id
            and channel.kind != "im"
            and self.app.user_id in channel.members
            and "app_mention" in self.app.events
            and "app_mentions:read" in self.app.scopes
        )

    def emit(self, event: Json) -> SentEvent:
        """Send an event in the background until it is acknowledged or the retries are used up."""
        event_id = self.workspace.next_id("Ev")
        sent = SentEvent(event_callback(self.workspace, self.app, event, event_id))
        self.sent.append(sent)
        self.in_background(self._deliver(sent))
        return sent

    async def _deliver(self, sent: SentEvent) -> None:
        reason = ""
        for wait in (None, *self.retry_after):
            if wait is not None:
                await asyncio.sleep(wait)
            if await self.redeliver(sent, reason):
                return
            reason = "timeout"

    async def redeliver(self, sent: SentEvent, reason: str = "timeout") -> bool:
        """Send this event (once more), with the same event_id; whether it was acknowledged."""
        retry = (sent.attempts, reason) if sent.attempts else None
        sent.attempts += 1
        acked = await self.socket.send("events_api", sent.payload, retry=retry) is not None
        sent.acked = sent.acked or acked
        return acked

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
