"""What people type and click: written down before it is acknowledged, then carried out, crash or no crash."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

import asyncpg
from pydantic import Field, TypeAdapter, ValidationError

from bot.background import Background
from bot.blocks import Drawn, offer_anyway
from bot.command import topic_language
from bot.decisions import Seen
from bot.learning import Learn, Learning
from bot.render import escape
from bot.replies import Word
from bot.slack import LockedOut, NotNow, Refused, SlackChannel
from bot.slack_files import SharedFile
from bot.sources import OfSource, Sources
from bot.texts import say
from bot.workflow import Answer, Requested, Said, Workflow
from knowledge.inbox import TAKEN_FOR, Arrival, Inbox
from knowledge.language import Language

log = logging.getLogger(__name__)

# Slack waits 3 s for an acknowledgement, and the way there and back takes its time.
KEEP_SECONDS = 2.0

# So many are carried out at once in a process; most of the time they wait for Slack.
AT_ONCE = 20

# Of these, what is fetched and read: a slow page must not keep a word waiting.
READ_AT_ONCE = 4

LOOK_EVERY_SECONDS = 2.0

# What was said later in the same thread waits so often and so long at a time, before it is put back.
IN_TURN_LOOKS = 20
IN_TURN_SECONDS = 0.1

# Failed tries before somebody is told that nothing comes of it: two to three minutes.
TRIES = 8


class NotKept(Exception):
    """It could not be written down in time, so it is not to be acknowledged as heard."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message in a thread, with the files in it."""

    said: Said
    files: tuple[SharedFile, ...] = ()
    kind: Literal["spoken"] = "spoken"

    @property
    def key(self) -> str:
        return self.said.claims[-1]  # of the message, whatever event brought it


@dataclass(frozen=True, slots=True)
class Decision:
    """A word by a button (`respond_to`: where its clicker is answered) or by the form."""

    article_id: int
    word: Word
    seen: Seen
    user_id: str
    key: str
    language: Language
    respond_to: str | None
    kind: Literal["decision"] = "decision"


@dataclass(frozen=True, slots=True)
class Commission:
    """`/article TOPIC`, or the button that starts one all the same; `started` is the text to say then."""

    requested: Requested
    respond_to: str
    started: str | None = None
    kind: Literal["commission"] = "commission"

    @property
    def key(self) -> str:
        return self.requested.claim


@dataclass(frozen=True, slots=True)
class CancelTyped:
    """`/article cancel ID`."""

    article_id: int
    user_id: str
    team_id: str
    key: str
    language: Language
    respond_to: str
    kind: Literal["cancel_typed"] = "cancel_typed"


What = Spoken | Decision | Commission | CancelTyped | Learn | OfSource
WHAT: TypeAdapter[What] = TypeAdapter(Annotated[What, Field(discriminator="kind")])


class Arrivals:
    """Each serving process carries out what it has heard itself, and what a dead one has left."""

    def __init__(
        self,
        inbox: Inbox,
        workflow: Workflow,
        learning: Learning,
        sources: Sources,
        slack: SlackChannel,
        background: Background,
    ) -> None:
        self._inbox = inbox
        self._workflow = workflow
        self._learning = learning
        self._sources = sources
        self._slack = slack
        self._background = background
        self._room = asyncio.Semaphore(AT_ONCE)
        self._room_to_read = asyncio.Semaphore(READ_AT_ONCE)
        self._keeping = 0
        self._all_kept = asyncio.Event()
        self._all_kept.set()

    async def keep(self, what: What) -> None:
        """Write it down and start on it; raises `NotKept`. A second delivery is left to the first."""
        self._keeping += 1
        self._all_kept.clear()
        try:
            async with asyncio.timeout(KEEP_SECONDS):
                arrival = await self._inbox.keep(what.key, WHAT.dump_python(what, mode="json"))
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as fault:
            log.error("%s cannot be written down: %s", what.key, fault or type(fault).__name__)
            raise NotKept from fault
        finally:
            self._keeping -= 1
            if not self._keeping:
                self._all_kept.set()
        if arrival is not None:
            self._background.start(self._work(arrival, what))

    async def run(self) -> None:
        """Take up what nobody works on; until cancelled, or until the database is away."""
        while True:
            async with self._room:  # not more than can be begun soon: another process may have time
                taken = await self._inbox.take(1)
            for arrival in taken:
                try:
                    what = WHAT.validate_python(arrival.what)
                except ValidationError:
                    log.exception("%s was written down by another release and cannot be read", arrival.key)
                    await self._inbox.done(arrival)
                    continue
                log.info("%s is taken up again", arrival.key)
                self._background.start(self._work(arrival, what))
            if not taken:
                await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def _work(self, arrival: Arrival, what: What) -> None:
        # Slack waits for what is being written down, and nobody for the rest: a hundred commands at once.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KEEP_SECONDS):
                await self._all_kept.wait()
        if isinstance(what, Spoken) and not await self._in_turn(arrival):
            await self._inbox.later(arrival, timedelta(seconds=LOOK_EVERY_SECONDS))
            return
        reads = isinstance(what, Learn) or (isinstance(what, Spoken) and bool(what.files))
        async with self._room_to_read if reads else self._room:
            try:
                if not await self._inbox.still_ours(arrival):
                    return
                if not await self._inbox.heard(arrival):
                    async with self._held(arrival):
                        await self._carry_out(what)
            except Exception as fault:
                if arrival.attempts + 1 < TRIES:
                    delay = timedelta(seconds=min(30.0, 2.0**arrival.attempts))
                    log.warning("%s cannot be carried out, again in %s: %r", arrival.key, delay, fault)
                    await self._inbox.again(arrival, delay)
                    return
                log.exception("%s cannot be carried out", arrival.key)
                if not await self._tell_fault(what):
                    await self._inbox.again(arrival, timedelta(seconds=30.0))
                    return
            await self._inbox.done(arrival)

    async def _in_turn(self, arrival: Arrival) -> bool:
        """Whether all that was said before it in its thread is done, which mostly is so in a moment."""
        for _ in range(IN_TURN_LOOKS):
            if not await self._inbox.after_another(arrival):
                return True
            await asyncio.sleep(IN_TURN_SECONDS)
        return False

    @asynccontextmanager
    async def _held(self, arrival: Arrival) -> AsyncIterator[None]:
        """While it is carried out nobody else takes it, however long a page or a file takes."""

        async def hold() -> None:
            while True:
                await asyncio.sleep(TAKEN_FOR.total_seconds() / 3)
                try:
                    if not await self._inbox.still_ours(arrival):
                        return
                except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as fault:
                    log.warning("%s may be taken to be left: %s", arrival.key, fault)

        holding = asyncio.create_task(hold())
        try:
            yield
        finally:
            holding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await holding

    async def _carry_out(self, what: What) -> None:
        match what:
            case Spoken(said, files):
                # The files first: the word in the same message is about them.
                if files and (article := await self._workflow.article_of(said)) is not None:
                    await self._learning.share(article, said, files)
                await self._workflow.hear(said)
            case Decision():
                await self._workflow.act(
                    what.article_id,
                    what.word,
                    what.seen,
                    user_id=what.user_id,
                    key=what.key,
                    claims=(what.key,),
                )
            case Commission(requested, respond_to, started):
                answer = await self._workflow.request(requested)
                if answer is None and started is not None:
                    answer = Answer(say(requested.language, started))
                if answer is not None:
                    blocks = offer_anyway(answer.text, requested) if answer.offer_anyway else None
                    await self._respond(respond_to, answer.text, blocks)
            case CancelTyped():
                answer = await self._workflow.cancel_by_command(
                    what.article_id,
                    language=what.language,
                    user_id=what.user_id,
                    team_id=what.team_id,
                    claim=what.key,
                )
                await self._respond(what.respond_to, answer.text)
            case Learn():
                await self._respond(what.respond_to, await self._learning.learn(what))
            case OfSource():
                await self._respond(what.respond_to, await self._sources.carry_out(what))

    async def _respond(self, url: str, text: str, blocks: list[dict[str, object]] | None = None) -> None:
        """What was done is done: an answer that is lost is not a reason to do it again."""
        try:
            await self._slack.respond(url, text, blocks)
        except (NotNow, Refused) as error:
            log.warning("an answer did not reach its asker: %s", error)

    async def _tell_fault(self, what: What) -> bool:
        """Say that nothing comes of it; what was typed goes back to its author where it is out of sight.

        Whether that was possible: while Slack is away for both, what was said is tried further.
        """
        try:
            match what:
                case Spoken(said):
                    away = Drawn(say(topic_language(said.text), "not_written_down"), [])
                    await self._slack.whisper(said.channel_id, said.user_id, said.thread_ts, away)
                case Decision(respond_to=None):
                    away_text = say(what.language, "not_written_down")
                    await self._slack.direct(what.user_id, f"{away_text}\n{escape(what.word.text)}")
                case Commission(requested, respond_to):
                    await self._slack.respond(respond_to, say(requested.language, "not_written_down"))
                case Learn(respond_to=url):
                    await self._slack.respond(url, say(what.language or "en", "not_written_down"))
                case Decision(respond_to=str(url)) | CancelTyped(respond_to=url) | OfSource(respond_to=url):
                    await self._slack.respond(url, say(what.language, "not_written_down"))
        except (NotNow, LockedOut) as error:
            log.error("nor could the person be told: %s", error)
            return False
        except Exception:
            log.exception("nor could the person be told")
        return True
