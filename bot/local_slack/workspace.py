"""The state of the local Slack: people, channels, messages, files, and who waits for a change of them."""

import asyncio
import copy
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

Json = dict[str, Any]
T = TypeVar("T")
TOMBSTONE = "This message was deleted."
RECHECK_SECONDS = 0.1


class WithId(Protocol):
    """A member of the workspace, seen from either side."""

    @property
    def id(self) -> str: ...


class NotPossible(Exception):
    """What a person tried cannot be done in Slack; the message says why and what to do instead."""


class WaitedInVain(AssertionError):
    """Nothing that was waited for happened in time; the message shows the last messages."""


@dataclass(frozen=True)
class Member:
    id: str
    name: str
    team: str
    tz: str = "Etc/UTC"
    locale: str = "en-US"
    is_bot: bool = False
    is_admin: bool = False
    is_restricted: bool = False  # a guest
    is_ultra_restricted: bool = False  # a guest of one channel
    is_stranger: bool = False  # of another workspace, met through Slack Connect
    deleted: bool = False


@dataclass
class Channel:
    id: str
    name: str
    kind: str  # "public", "private", "im" or "mpim"
    members: list[str]
    is_archived: bool = False
    is_read_only: bool = False  # only admins post


@dataclass(frozen=True)
class Message:
    """One state of a message. Frozen: an edit makes a new one, so a copy kept by a test is a stale copy."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: tuple[Json, ...] = ()
    thread_ts: str | None = None
    subtype: str | None = None
    bot_id: str | None = None
    username: str | None = None
    metadata: Json | None = None
    files: tuple[str, ...] = ()
    reactions: tuple[tuple[str, str], ...] = ()  # (name, user)
    edited_by: str | None = None
    edited_ts: str | None = None
    only_for: str | None = None  # an ephemeral message: the one person who sees it

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts


@dataclass
class File:
    id: str
    name: str
    title: str
    user: str
    size: int
    content: bytes | None = None  # None until the upload came
    completed: bool = False
    external_url: str | None = None  # it is kept elsewhere, at this address; Slack has no bytes of it
    shares: list[tuple[str, str, str | None]] = field(default_factory=list)  # channel, ts, thread_ts


@dataclass(frozen=True)
class Usergroup:
    id: str
    handle: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """A modal or a home tab as the app sent it, with what Slack adds."""

    id: str
    user: str
    hash: str
    payload: Json
    root_id: str
    previous_id: str | None = None

    @property
    def title(self) -> str:
        return str(self.payload.get("title", {}).get("text", ""))


class Workspace:
    """All that is true in the workspace. Every change is announced to those who wait in `wait_for`."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock  # seconds since the epoch; tests give their own and move it
        self.team, self.domain, self.name = "T0LOCAL0001", "local", "Local Slack"
        self.origin = ""  # where this workspace is served, known once the server listens
        self.members: dict[str, Member] = {}
        self.channels: dict[str, Channel] = {}
        self.usergroups: dict[str, Usergroup] = {}
        self.files: dict[str, File] = {}
        self.modals: dict[str, list[View]] = {}  # by person, the topmost last
        self.homes: dict[str, View] = {}
        self.ephemerals: list[Message] = []
        self._messages: dict[str, dict[str, Message]] = {}
        self._revisions: dict[tuple[str, str], list[Message]] = {}
        self._counters: dict[str, int] = {}
        self._last_moment = 0  # of the last ts, in microseconds
        self._waiting: set[asyncio.Future[None]] = set()

    def next_number(self, what: str) -> int:
        self._counters[what] = self._counters.get(what, 0) + 1
        return self._counters[what]

    def next_id(self, prefix: str) -> str:
        """An id as Slack's look: the letter of its kind, then capitals and digits."""
        return f"{prefix}0LOCAL{self.next_number(prefix):04d}"

    def next_ts(self) -> str:
        """`seconds.micro`, rising and never twice the same; the seconds are the clock's."""
        self._last_moment = max(self._last_moment, int(self.clock()) * 1_000_000) + 100
        return f"{self._last_moment // 1_000_000}.{self._last_moment % 1_000_000:06d}"

    def add_channel(self, name: str, kind: str, members: Sequence[str], **more: bool) -> Channel:
        prefix = {"public": "C", "private": "C", "im": "D", "mpim": "G"}[kind]
        channel = Channel(self.next_id(prefix), name, kind, list(dict.fromkeys(members)), **more)
        self.channels[channel.id] = channel
        self._messages[channel.id] = {}
        return channel

    def direct_channel(self, *members: str) -> Channel:
        """The direct conversation of these people; opened when it does not exist."""
        for channel in self.channels.values():
            if channel.kind in ("im", "mpim") and set(channel.members) == set(members):
                return channel
        return self.add_channel("", "im" if len(set(members)) <= 2 else "mpim", members)

    def with_ids(self, blocks: Iterable[Json]) -> tuple[Json, ...]:
        """Copies of blocks in which each block and each element to press has an id, as Slack gives them."""
        copies = copy.deepcopy(list(blocks))
        for block in copies:
            block.setdefault("block_id", f"b{self.next_number('block')}")
            parts = [*block.get("elements", []), block.get("accessory"), block.get("element")]
            for part in parts if block["type"] in ("actions", "section", "input") else ():
                if part and part["type"] != "image":
                    part.setdefault("action_id", f"a{self.next_number('action')}")
        return tuple(copies)

    # messages

    def add(self, message: Message) -> Message:
        self._messages[message.channel][message.ts] = message
        self._revisions[message.channel, message.ts] = [message]
        for file_id in message.files:
            self.files[file_id].shares.append((message.channel, message.ts, message.thread_ts))
        self.changed()
        return message

    def change(self, message: Message, **changes: Any) -> Message:
        """Replace fields of a message; a revision is kept when what people read changed."""
        current = self._messages[message.channel][message.ts]
        changed = replace(current, **changes)
        self._messages[message.channel][message.ts] = changed
        if (changed.text, changed.blocks, changed.files) != (current.text, current.blocks, current.files):
            self._revisions[message.channel, message.ts].append(changed)
        self.changed()
        return changed

    def remove(self, message: Message) -> Message | None:
        """Take a message away. One with replies leaves a tombstone, which is returned."""
        if not self.replies(message):
            del self._messages[message.channel][message.ts]
            self.changed()
            return None
        return self.change(
            message, text=TOMBSTONE, subtype="tombstone", blocks=(), files=(), metadata=None, reactions=()
        )

    def add_ephemeral(self, message: Message) -> Message:
        self.ephemerals.append(message)
        self.changed()
        return message

    def message(self, channel: str, ts: str) -> Message | None:
        return self._messages.get(channel, {}).get(ts)

    def revisions(self, message: Message) -> list[Message]:
        return list(self._revisions[message.channel, message.ts])

    def all_messages(self, channel: str) -> list[Message]:
        return list(self._messages[channel].values())

    def history(self, channel: str) -> list[Message]:
        """What stands in the channel itself: no replies, except those broadcast to it. Oldest first."""
        return [m for m in self.all_messages(channel) if not m.is_reply or m.subtype == "thread_broadcast"]

    def thread(self, channel: str, ts: str) -> list[Message]:
        """The parent (if it still stands) and its replies, oldest first."""
        return [m for m in self.all_messages(channel) if ts in (m.ts, m.thread_ts)]

    def replies(self, message: Message) -> list[Message]:
        return [m for m in self.thread(message.channel, message.ts) if m.ts != message.ts]

    # waiting

    def changed(self) -> None:
        """Wake all who wait: something in here is new."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    async def wait_for(self, predicate: Callable[[], T], timeout: float = 5) -> T:  # noqa: ASYNC109 - the message of WaitedInVain needs the time
        """The first true answer of `predicate`, asked again at each change.

        It is also asked ten times a second: what the app keeps to itself is not announced here.
        `timeout` is in seconds of real time. Raises WaitedInVain.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while not (answer := predicate()):
            left = end - loop.time()
            if left <= 0:
                raise WaitedInVain(
                    f"Nothing came within {timeout} s. The last messages:\n{self._last_messages()}"
                )
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.add(future)
            with suppress(TimeoutError):
                await asyncio.wait_for(future, min(left, RECHECK_SECONDS))
            self._waiting.discard(future)
        return answer

    def _last_messages(self) -> str:
        everything: Iterable[Message] = (m for c in self._messages.values() for m in c.values())
        last = sorted([*everything, *self.ephemerals], key=lambda m: m.ts)[-8:]
        lines = (
            f"  {m.ts} in {m.channel}{f' to {m.only_for} alone' if m.only_for else ''} "
            f"by {m.user}: {m.text[:200]!r}"
            for m in last
        )
        return "\n".join(lines) or "  none"
