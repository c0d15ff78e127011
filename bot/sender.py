"""The one sender: brings what the outbox holds into Slack, in order for each article."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from aiolimiter import AsyncLimiter
from pydantic import ValidationError

from bot.blocks import draw
from bot.messages import MESSAGE, DigestMessage, FileMessage, NoteMessage, StatusMessage
from bot.slack import NotNow, Posted, Refused, SlackChannel
from bot.texts import TextError
from knowledge.outbox import Outbox, Unsent

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pace:
    """How many new messages a channel gets in how many seconds."""

    messages: int
    seconds: float


# Slack takes about one message a second for each channel, and short bursts.
SLACKS_PACE = Pace(5, 5)

# What is not announced by a notification (another process took over, a postponed message) is found this late.
LOOK_EVERY_SECONDS = 5.0


class Sender:
    """Runs in every serving process; only the one that holds the outbox's lock sends."""

    def __init__(
        self,
        outbox: Outbox,
        slack: SlackChannel,
        *,
        refused: Callable[[int, str], Awaitable[None]],
        pace: Pace = SLACKS_PACE,
    ) -> None:
        """`refused(article_id, code)` is told of messages that people needed and Slack will never take."""
        self._outbox = outbox
        self._slack = slack
        self._refused = refused
        self._wake = asyncio.Event()
        self._pace = pace
        self._limiters: dict[str, AsyncLimiter] = {}
        self._busy: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Send until cancelled; messages under way are finished while this is still the one sender."""
        while True:
            async with self._outbox.as_only_sender(self._wake.set) as is_sender:
                try:
                    while is_sender():
                        await self._send_ready()
                finally:
                    await asyncio.gather(*self._busy.values(), return_exceptions=True)
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def _send_ready(self) -> None:
        """Start a task for each channel that has something to send, then sleep until there is more."""
        self._wake.clear()
        wait = LOOK_EVERY_SECONDS
        ready: dict[str, list[Unsent]] = {}
        # As it was before the look: what is sent while it lasts still stands in its answer as unsent.
        busy = frozenset(self._busy)
        for head in await self._outbox.heads():
            if head.wait_seconds > 0:
                wait = min(wait, head.wait_seconds)
            elif head.channel_id not in busy:
                ready.setdefault(head.channel_id, []).append(head)
        for channel_id, heads in ready.items():
            self._busy[channel_id] = asyncio.create_task(self._send_all(channel_id, heads))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._wake.wait()

    async def _send_all(self, channel_id: str, heads: list[Unsent]) -> None:
        try:
            for head in heads:
                try:
                    await self._send(head)
                except Exception:
                    # Ours, not Slack's: the database, or a fault. With no wait it would go out over and over.
                    log.exception("%s could not be sent or marked as sent", head.key)
                    await self._outbox.postpone(head, _backoff(head))
        finally:
            del self._busy[channel_id]
            self._wake.set()

    async def _send(self, head: Unsent) -> None:
        try:
            posted = await self._deliver(head)
        except NotNow as error:
            # The place for the read-back: where `error.ambiguous`, look in the thread for the key first.
            named = error.retry_after
            delay = _backoff(head) if named is None else timedelta(seconds=named)
            log.warning("%s: %s, again in %s", head.key, error, delay)
            await self._outbox.postpone(head, delay)
        except Refused as error:
            log.error("%s: Slack refused it: %s", head.key, error.code)
            await self._outbox.give_up(head, error.code)
            # An edit that is refused leaves what was there; only a message that never came stops an article.
            if (
                head.article_id is not None
                and head.ts is None
                and (head.asks or head.message["kind"] in ("status", "file"))
            ):
                await self._refused(head.article_id, error.code)
        else:
            # The ts first: words of people in the thread are understood by it.
            await self._outbox.sent(head, ts=posted.ts, permalink=posted.permalink)
            linked = head.asks or head.message["kind"] in ("status", "digest")
            if linked and posted.ts is not None and head.ts is None:
                await self._outbox.link(head, await self._slack.permalink(head.channel_id, posted.ts))

    async def _deliver(self, head: Unsent) -> Posted:
        try:
            message = MESSAGE.validate_python(head.message)
            if isinstance(message, StatusMessage) and message.link_to is not None:
                link = await self._outbox.permalink(message.link_to)
                message = message.model_copy(update={"link": link})
            drawn = draw(message)
        except (ValidationError, TextError) as error:
            log.exception("%s cannot be drawn", head.key)
            raise Refused("cannot_be_drawn") from error
        if head.thread_ts is None and not isinstance(message, StatusMessage | DigestMessage):
            raise Refused("no_thread")  # the status message was refused: there is nowhere to speak
        if head.ts is not None:
            await self._slack.edit(head.channel_id, head.ts, drawn, key=head.key)
            return Posted(head.ts, None)
        if isinstance(message, NoteMessage) and message.to is not None:
            return await self._slack.whisper(head.channel_id, message.to, head.thread_ts, drawn)
        fresh = AsyncLimiter(self._pace.messages, self._pace.seconds)
        limiter = self._limiters.setdefault(head.channel_id, fresh)
        async with limiter:
            if isinstance(message, FileMessage):
                assert head.thread_ts is not None
                return await self._slack.upload(head.channel_id, head.thread_ts, message)
            return await self._slack.post(head.channel_id, head.thread_ts, drawn, key=head.key)


def _backoff(head: Unsent) -> timedelta:
    return timedelta(seconds=min(30.0, 0.5 * 2**head.attempts))
