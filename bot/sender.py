"""The one sender: brings what the outbox holds into Slack, in order for each article."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from aiolimiter import AsyncLimiter
from pydantic import ValidationError

from bot.blocks import draw
from bot.messages import MESSAGE, FileMessage, NoteMessage, StatusMessage
from bot.slack import LockedOut, NotNow, Posted, Refused, SlackChannel
from bot.texts import TextError
from knowledge.counters import messages_not_sent, messages_sent
from knowledge.outbox import SETTLED_AFTER, Outbox, Unsent

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pace:
    """How many new messages a channel gets in how many seconds."""

    messages: int
    seconds: float


# Slack takes about one message a second for each channel, and short bursts.
SLACKS_PACE = Pace(5, 5)

# chat.update is a tier 3 method: some 50 calls a minute for the whole workspace.
SLACKS_EDIT_PACE = Pace(50, 60)

# On the way out: for what is being sent. What Slack has not answered by then, the next sender looks for.
LEAVE_SECONDS = 5.0

# What is not announced by a notification (another process took over, a postponed message) is found this late.
LOOK_EVERY_SECONDS = 5.0

# While Slack refuses the token nothing is sent; whether it takes it again is asked this often.
LOCKED_OUT_LOOK_SECONDS = 60.0

# A top-level message is looked for among those that are newer than its try, by our clock less this.
CLOCK_SKEW_SECONDS = 900

# So often an upload that Slack has is looked for in its thread, before its sharing is asked for once more.
SHARE_TRIES = 5


class Sender:
    """Runs in every serving process; only the one that holds the outbox's lock sends.

    Each channel has one task for its new messages and one for its edits, so that no edit under way, however
    slow, holds up a message.
    """

    def __init__(
        self,
        outbox: Outbox,
        slack: SlackChannel,
        *,
        refused: Callable[[int, str], Awaitable[None]],
        pace: Pace = SLACKS_PACE,
        edit_pace: Pace = SLACKS_EDIT_PACE,
        grace: float = LEAVE_SECONDS,
    ) -> None:
        """`refused(article_id, code)` is told of messages that people needed and Slack will never take."""
        self._grace = grace
        self._leaving = asyncio.Event()
        self._outbox = outbox
        self._slack = slack
        self._refused = refused
        self._wake = asyncio.Event()
        self._pace = pace
        self._limiters: dict[str, AsyncLimiter] = {}
        self._edits = AsyncLimiter(edit_pace.messages, edit_pace.seconds)
        self._busy: dict[tuple[str, bool], asyncio.Task[None]] = {}
        self._paused: dict[tuple[str, str], float] = {}  # (method, channel) -> until when Slack wants no call
        self._locked_out: str | None = None  # Slack's word for it
        self._next_try = 0.0
        self._direct: dict[str, str] = {}  # a person's id -> their direct channel

    async def run(self) -> None:
        """Send until cancelled; messages under way are finished while this is still the one sender."""
        while True:
            async with self._outbox.as_only_sender(self._wake.set) as is_sender:
                self._leaving.clear()
                try:
                    while is_sender():
                        await self._send_ready()
                finally:
                    await self._leave()
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def _leave(self) -> None:
        """What is under way ends; what waits for its turn, or too long for Slack, the next sender does."""
        self._leaving.set()
        if self._busy:
            _, late = await asyncio.wait(self._busy.values(), timeout=self._grace)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _send_ready(self) -> None:
        """Start a task for each channel that has something to send, then sleep until there is more."""
        self._wake.clear()
        wait = LOOK_EVERY_SECONDS
        ready: dict[tuple[str, bool], list[Unsent]] = {}
        # As it was before the look: what is sent while it lasts still stands in its answer as unsent.
        busy = frozenset(self._busy)
        heads = await self._outbox.heads()
        if self._locked_out is not None and not await self._let_in():
            await self._keep_all(heads)
            heads = []
        for head in heads:
            lane = (head.channel_id, head.ts is not None)
            pause = max(head.wait_seconds, self._pause(head))
            if pause > 0:
                wait = min(wait, pause)
            elif lane not in busy:
                ready.setdefault(lane, []).append(head)
        for lane, of_lane in ready.items():
            self._busy[lane] = asyncio.create_task(self._send_all(lane, of_lane))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._wake.wait()

    async def _send_all(self, lane: tuple[str, bool], heads: list[Unsent]) -> None:
        try:
            for head in heads:
                if self._leaving.is_set():
                    break
                if self._pause(head) > 0 or self._locked_out is not None:
                    continue
                try:
                    await self._send(head)
                except Exception:
                    # Ours, not Slack's: the database, or a fault. With no wait it would go out over and over.
                    log.exception("%s could not be sent or marked as sent", head.key)
                    await self._outbox.postpone(head, _backoff(head), unknown=True)
        finally:
            del self._busy[lane]
            self._wake.set()

    async def _send(self, head: Unsent) -> None:
        unknown = head.begun_at is not None  # whether an earlier try may be in Slack
        try:
            posted = await self._found(head) if unknown else None
            if posted is None:
                if not await self._has_turn(head):
                    return
                begun = await self._outbox.begin(head)
                if begun is None:
                    return  # another sender was faster
                head, unknown = begun, False
                posted = await self._deliver(head)
            else:
                assert head.begun_revision is not None
                log.info("%s is in Slack, although its answer was lost", head.key)
                head = replace(head, revision=head.begun_revision)
        except NotNow as error:
            named = error.retry_after
            delay = _backoff(head) if named is None else timedelta(seconds=named)
            if named is not None and not unknown:
                self._paused[_method(head)] = asyncio.get_running_loop().time() + named
            if error.ambiguous:  # a request that was given up may arrive as late as one whose answer was lost
                delay = max(delay, SETTLED_AFTER)
            messages_not_sent.add(1, {"why": "unsure" if unknown or error.ambiguous else "later"})
            log.warning("%s: %s, again in %s", head.key, error, delay)
            await self._outbox.postpone(head, delay, unknown=unknown or error.ambiguous)
        except LockedOut as error:
            self._lock_out(error.code)
            await self._outbox.postpone(head, timedelta(), unknown=unknown)
        except Refused as error:
            messages_not_sent.add(1, {"why": "refused"})
            log.error("%s: Slack refused it: %s", head.key, error.code)
            # The article first: should this end in between, the message is refused once more.
            if _needed(head):
                assert head.article_id is not None
                await self._refused(head.article_id, error.code)
            await self._outbox.give_up(head, error.code, unknown=unknown)
        else:
            # The ts first: words of people in the thread are understood by it.
            await self._outbox.sent(head, ts=posted.ts, permalink=posted.permalink)
            how = "found" if unknown else "posted" if head.ts is None else "edited"
            messages_sent.add(1, {"kind": head.message["kind"], "how": how})
            linked = head.asks or head.message["kind"] in ("status", "digest")
            if linked and posted.ts is not None and head.ts is None:
                await self._outbox.link(head, await self._slack.permalink(head.channel_id, posted.ts))

    async def _found(self, head: Unsent) -> Posted | None:
        """The message in Slack, where a try of it may have posted it and nobody knows; None = it has not."""
        if _is_whisper(head):
            # Nobody can look it up. It only informs, so that once too often is worse than not at all.
            return Posted(None, None)
        if head.message["kind"] == "file":
            if head.file_id is None:
                return None  # it had not come so far that it could be shared
            upload = await self._slack.upload_of(head.file_id, head.channel_id)
            if upload is not None and upload.ts is None:
                if head.attempts < SHARE_TRIES:
                    raise NotNow("the file is in Slack, but not in its thread yet")
                return None
            return upload
        channel_id = await self._channel(head)
        assert head.begun_at is not None
        tried = f"{head.begun_at.timestamp() - CLOCK_SKEW_SECONDS:.6f}"
        after: str | None = tried
        thread_ts = head.thread_ts if head.article_id is not None else None
        if thread_ts is not None:
            # Below what was put out before it; but Retry may have sent that again since.
            newest = await self._outbox.newest_before(head)
            after = None if newest is None else min(tried, newest, key=float)
        ts = await self._slack.find(channel_id, thread_ts, key=head.key, after=after)
        return None if ts is None else Posted(ts, None)

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
        in_thread = head.article_id is not None and not isinstance(message, StatusMessage)
        if in_thread and head.thread_ts is None:
            raise Refused("no_thread")  # the status message was refused: there is nowhere to speak
        if head.ts is not None:
            await self._slack.edit(head.channel_id, head.ts, drawn, key=head.key)
            return Posted(head.ts, None)
        if isinstance(message, NoteMessage) and message.to is not None:
            return await self._slack.whisper(head.channel_id, message.to, head.thread_ts, drawn)
        channel_id = await self._channel(head)
        if isinstance(message, FileMessage):
            assert head.thread_ts is not None

            async def uploaded(file_id: str) -> None:
                await self._outbox.uploaded(head, file_id)

            return await self._slack.upload(
                channel_id, head.thread_ts, message, file_id=head.file_id, uploaded=uploaded
            )
        return await self._slack.post(channel_id, head.thread_ts, drawn, key=head.key)

    async def _has_turn(self, head: Unsent) -> bool:
        """Wait until the pace has room for it; False when this sender leaves first."""
        if _is_whisper(head):
            return True
        limiter = self._edits
        if head.ts is None:
            fresh = AsyncLimiter(self._pace.messages, self._pace.seconds)
            limiter = self._limiters.setdefault(head.channel_id, fresh)
        turn, leaving = asyncio.create_task(limiter.acquire()), asyncio.create_task(self._leaving.wait())
        try:
            done, _ = await asyncio.wait((turn, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            turn.cancel()
            leaving.cancel()
        return turn in done

    async def _channel(self, head: Unsent) -> str:
        """Where it goes: a person has a direct channel."""
        if head.channel_id[0] not in "UW":
            return head.channel_id
        if head.channel_id not in self._direct:
            self._direct[head.channel_id] = await self._slack.direct_channel(head.channel_id)
        return self._direct[head.channel_id]

    def _pause(self, head: Unsent) -> float:
        """For how many seconds more Slack wants no such call."""
        return self._paused.get(_method(head), 0.0) - asyncio.get_running_loop().time()

    def _lock_out(self, code: str) -> None:
        if self._locked_out is None:
            log.error(
                "Slack refuses SLACK_BOT_TOKEN (%s): nothing is sent, and articles stop where people are "
                "needed. Copy the token again (OAuth & Permissions, xoxb-…) and start the bot again",
                code,
            )
        self._locked_out = code
        self._next_try = asyncio.get_running_loop().time() + LOCKED_OUT_LOOK_SECONDS

    async def _let_in(self) -> bool:
        """Whether Slack takes the token again: an app that was switched off can be switched on."""
        if asyncio.get_running_loop().time() < self._next_try:
            return False
        try:
            await self._slack.whoami()
        except (NotNow, Refused) as error:
            log.warning("Slack still refuses SLACK_BOT_TOKEN: %s", error)
            self._next_try = asyncio.get_running_loop().time() + LOCKED_OUT_LOOK_SECONDS
            return False
        log.warning("Slack takes SLACK_BOT_TOKEN again")
        self._locked_out = None
        return True

    async def _keep_all(self, heads: list[Unsent]) -> None:
        """Nothing can be sent: articles that need people fail, and what is to be sent stays."""
        assert self._locked_out is not None
        for head in heads:
            if _needed(head):
                assert head.article_id is not None
                await self._refused(head.article_id, self._locked_out)


def _needed(head: Unsent) -> bool:
    """An edit that is refused leaves what was there; only a message that never came stops an article."""
    return (
        head.article_id is not None
        and head.ts is None
        and (head.asks or head.message["kind"] in ("status", "file"))
    )


def _is_whisper(head: Unsent) -> bool:
    return head.message["kind"] == "note" and head.message["to"] is not None


def _method(head: Unsent) -> tuple[str, str]:
    """What Slack counts together: chat.postMessage by channel, the others in the whole workspace."""
    if head.ts is not None:
        return "edit", ""
    if _is_whisper(head):
        return "whisper", ""
    return ("file", "") if head.message["kind"] == "file" else ("post", head.channel_id)


def _backoff(head: Unsent) -> timedelta:
    return timedelta(seconds=min(30.0, 0.5 * 2**head.attempts))
