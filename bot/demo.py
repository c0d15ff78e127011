"""The whole job on this machine: a fresh database, knowledge, a local Slack, and one article's thread."""

import asyncio
import contextlib
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from bot import announcements, app
from bot.app import Knowledge, StartError, open_knowledge
from bot.article_file import filename
from bot.command import BadCommand, read_command, topic_language
from bot.local_slack.people import Person
from bot.local_slack.plain_text import plain_text
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message
from bot.manifest import bot_events, bot_scopes
from bot.sender import Pace
from bot.settings import Settings, default_home
from bot.texts import say_plain
from knowledge.article import Article, Status
from knowledge.embeddings import embed_pending
from knowledge.language import Language
from knowledge.outbox import Outbox

SAMPLE = Path(__file__).parent.parent / "knowledge" / "sample"

# What the scripted person says to outline 1: it shows in the outline, whatever the topic is.
DROP: dict[Language, str] = {
    "en": "revise: drop section {last}",
    "zh": "修改：删除第{last}节",
    "ja": "修正：第{last}節を削除",
}
# Where there is nothing to spare.
MOVE: dict[Language, str] = {
    "en": "revise: move section {last} to the front",
    "zh": "修改：把第{last}节移到最前面",
    "ja": "修正：第{last}節を先頭に移動",
}
FEWEST_SECTIONS = 3
APPROVE: dict[Language, str] = {"en": "approve", "zh": "通过", "ja": "承認"}

GATES = frozenset({Status.AWAITING_OUTLINE, Status.AWAITING_APPROVAL})
ENDS = frozenset({Status.PUBLISHED, Status.CANCELLED, Status.FAILED})

PACE = Pace(20, 1)  # the local Slack takes what comes, and nobody wants to wait for a demo

# For one step; real models take minutes.
PATIENCE_SECONDS = 900.0
LOOK_SECONDS = 0.1

# Search goes by words until a passage has its vector; the demo shall be over within a minute.
VECTOR_SECONDS = 15.0

# What a link leads to is of no use in a terminal when it is this Slack, gone when the demo ends.
LINK_INTO_SLACK = re.compile(r" \(https://local\.slack\.com/[^)]*\)")

T = TypeVar("T")


class DemoSettings(Settings):
    """Only what the demo gives: nothing of this machine's environment or `.env`."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


@dataclass(frozen=True)
class Stage:
    """Where the demo plays: the local Slack with Ana in #articles, and the knowledge behind the bot."""

    slack: LocalSlack
    ana: Person
    channel: Channel
    knowledge: Knowledge


async def run_demo(topic: str, *, scripted: bool, knowledge: Path | None, model: str | None) -> int:
    """Play the whole job and print it; 0 when the article was published or the person left it, else 1."""
    if isinstance(command := read_command(topic), BadCommand):
        print(say_plain(topic_language(topic), command.key, **command.params))
        return 1
    folder = _fresh_folder()
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # it would stand in the middle of the thread
    # What happens shows in the thread; the log is for what nobody foresaw.
    logging.basicConfig(filename=folder / "demo.log", level="INFO", force=True)
    try:
        async with LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack:
            ana = slack.add_person("Ana")
            settings = DemoSettings(
                home=folder,
                model=model or "offline",
                slack_bot_token=slack.bot_token,
                slack_app_token=slack.app_token,
                slack_api_url=slack.base_url,
            )
            app.check_set(settings)
            async with open_knowledge(settings) as known:
                stage = Stage(slack, ana, slack.add_channel("articles", [ana, slack.bot]), known)
                if not await _fill(known, knowledge or SAMPLE):
                    return 1
                ready = asyncio.Event()
                bot = asyncio.create_task(app.serve(settings, known, worker=True, ready=ready.set, pace=PACE))
                try:
                    await _while_running(bot, ready.wait())
                    article = await _while_running(bot, _play(stage, topic, scripted=scripted))
                finally:
                    bot.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await bot
                return 1 if article is None else await _tell_where(known, article.id, folder)
    finally:  # the article and the log stay; the next run has a database of its own
        await asyncio.to_thread(shutil.rmtree, folder / "database", ignore_errors=True)


def _fresh_folder() -> Path:
    """A folder of its own for each run, below `COPYDESK_HOME`; raises `StartError`."""
    home = Path(os.environ.get("COPYDESK_HOME") or default_home()).expanduser().absolute()
    folder = home / "demo" / f"{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise StartError(
            f"{folder} cannot be made ({error.strerror}): set COPYDESK_HOME to a folder that can."
        ) from error
    return folder


async def _fill(knowledge: Knowledge, path: Path) -> bool:
    """Ingest, and give vectors a head start; on a slow machine the rest follow while the bot runs."""
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())  # it is read in the thread
    report = await knowledge.documents.ingest([path])
    for failed in report.failed:
        print(f"Not added: {failed.path} ({failed.reason})")
    count = await knowledge.documents.count()
    if count.chunks == 0:
        print("There is nothing to write from: name a file or folder with Markdown, text, PDF or code.")
        return False
    print(f"Knowledge: {count.documents} documents, {count.chunks} passages from {path}", flush=True)
    if knowledge.embedder is not None:
        print("Vectors: ", end="", flush=True)
        ends = time.monotonic() + VECTOR_SECONDS
        while time.monotonic() < ends and (
            done := await embed_pending(knowledge.pool, knowledge.embedder, limit=4)
        ):
            print("." * done, end="", flush=True)
        left = await knowledge.without_vector()
        print(f" {count.chunks - left} of {count.chunks}" + (", the rest follow" if left else ""))
    return True


async def _while_running(bot: asyncio.Task[None], play: Coroutine[Any, Any, T]) -> T:
    """The result of `play`; should the bot end before, its error."""
    playing = asyncio.create_task(play)
    await asyncio.wait({bot, playing}, return_when=asyncio.FIRST_COMPLETED)
    if not playing.done():
        playing.cancel()
        bot.result()
    return await playing


async def _play(stage: Stage, topic: str, *, scripted: bool) -> Article | None:
    """The article in the end; None when none was started."""
    printer = Printer(stage)
    printer.line("Ana", f"/article {topic}")
    watching = asyncio.create_task(printer.follow())
    try:
        answer = await stage.ana.command(stage.channel, "/article", topic)
        article = await _started(stage, refused=bool(answer.seen))
        if article is not None:
            play = _follow_script if scripted else _converse
            article = await play(stage, article)
            await _all_sent(stage)
        return article
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        printer.show()


async def _started(stage: Stage, *, refused: bool) -> Article | None:
    """The article, once its thread is there; None when the command was answered instead."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not refused and not stage.ana.ephemerals:
            newest = await stage.knowledge.articles.newest(limit=1)
            if newest and newest[0].thread_ts:
                return newest[0]
            await asyncio.sleep(LOOK_SECONDS)
    return None


async def _follow_script(stage: Stage, article: Article) -> Article:
    """`revise: …` on outline 1, then `approve` until the article ends."""
    article = await _asked(stage, article)
    if article.status is Status.AWAITING_OUTLINE:
        assert article.analysis is not None
        last = len(article.analysis["outline"])
        revise = DROP if last > FEWEST_SECTIONS else MOVE
        await _say(stage, article, revise[article.language].format(last=last))
    while (article := await _asked(stage, article)).status not in ENDS:
        await _say(stage, article, APPROVE[article.language])
    return article


async def _say(stage: Stage, article: Article, text: str) -> None:
    """Say it in the thread, and come back once it has had its effect."""
    await stage.ana.say(stage.channel, text, thread_ts=article.thread_ts)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (now := await stage.knowledge.articles.get(article.id)) is not None:
            if now.moves != article.moves:
                return
            await asyncio.sleep(LOOK_SECONDS)


async def _asked(stage: Stage, article: Article) -> Article:
    """The article once it asks for a decision, in the thread, or has ended."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            now = await stage.knowledge.articles.get(article.id)
            assert now is not None
            if now.status in ENDS:
                return now
            if now.status in GATES:
                on, version = announcements.waits_for(now)
                asked = await stage.knowledge.articles.message(announcements.gate_key(now, on, version))
                if asked is not None and asked[1] is not None:
                    return now
            await asyncio.sleep(LOOK_SECONDS)


async def _converse(stage: Stage, article: Article) -> Article:
    """A person at the terminal plays Ana, until the article ends or they leave."""
    print("\nYou are Ana. Reply as in the thread (approve, revise: …, cancel); Ctrl-D leaves.", flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    ended = asyncio.create_task(_ended(stage, article))
    try:
        while not ended.done():
            typed = asyncio.create_task(lines.readline())
            await asyncio.wait({typed, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not typed.done():
                typed.cancel()
                break
            if not (line := typed.result().decode(errors="replace")):
                break
            if (text := line.strip()).startswith("/article"):
                await stage.ana.command(stage.channel, "/article", text.removeprefix("/article"))
            elif text:
                await stage.ana.say(stage.channel, text, thread_ts=article.thread_ts)
    finally:
        ended.cancel()
    now = await stage.knowledge.articles.get(article.id)
    assert now is not None
    return now


async def _ended(stage: Stage, article: Article) -> None:
    while True:
        now = await stage.knowledge.articles.get(article.id)
        if now is None or now.status in (Status.PUBLISHED, Status.CANCELLED):
            return
        await asyncio.sleep(LOOK_SECONDS)


async def _all_sent(stage: Stage) -> None:
    """Until the thread shows all that was said."""
    outbox = Outbox(stage.knowledge.pool)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await outbox.heads():
            await asyncio.sleep(LOOK_SECONDS)


async def _tell_where(knowledge: Knowledge, article_id: int, folder: Path) -> int:
    article = await knowledge.articles.get(article_id)
    versions = await knowledge.articles.versions(article_id)
    assert article is not None
    if not versions:
        print(f"\nThe article is {article.status}; there is no draft. Log: {folder / 'demo.log'}")
        return int(article.status is Status.FAILED)
    file = folder / filename(versions[-1]["draft"]["title"], article_id)
    file.write_text(versions[-1]["markdown"])
    print(f"\nThe article ({article.status}): {file}")
    return int(article.status is Status.FAILED)


class Printer:
    """Prints the thread as it grows: each message when it appears, the status message at each step."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._printed: dict[str, str] = {}

    async def follow(self) -> None:
        """Print until cancelled."""
        while True:
            await self._stage.slack.wait_for(self.show, timeout=PATIENCE_SECONDS)

    def show(self) -> bool:
        """Print what is new; says whether anything was."""
        slack, channel = self._stage.slack, self._stage.channel
        messages = [reply for parent in slack.history(channel) for reply in slack.thread(channel, parent.ts)]
        return sum(self._show(message) for message in [*messages, *self._stage.ana.ephemerals]) > 0

    def line(self, who: str, text: str) -> None:
        first, *rest = text.splitlines() or [""]
        print(f"\n{who:>8} │ {first}", *(f"{'':>8} │ {line}" for line in rest), sep="\n", flush=True)

    def _show(self, message: Message) -> bool:
        text, known = self._text(message), self._printed.get(message.ts)
        if text == known:
            return False
        self._printed[message.ts] = text
        if known is not None and message.is_reply:
            return False  # a gate without its buttons: what was decided stands in the thread
        if known is not None:  # the article's message, edited in place: only what is new of it
            text = "\n".join(line for line in text.splitlines() if line not in known.splitlines())
        who = "Ana" if message.user == self._stage.ana.id else "Copydesk"
        self.line(who, f"(to Ana alone) {text}" if message.only_for else text)
        return True

    def _text(self, message: Message) -> str:
        names = [f"[file] {file.name}" for file in self._stage.slack.files if file.id in message.files]
        text = plain_text(message).replace(self._stage.ana.mention, "@Ana")
        text = LINK_INTO_SLACK.sub("", text)
        return "\n".join([*names, text] if text else names)
