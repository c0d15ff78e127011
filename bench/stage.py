"""Where benchmarks play: a fresh database with the sample knowledge, a local Slack, the bot as processes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.report import BenchError
from bot.app import Knowledge, open_knowledge
from bot.blocks import APPROVE, BadButton, read_value
from bot.demo import SAMPLE, DemoSettings
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message
from bot.manifest import bot_events, bot_scopes
from knowledge.article import On
from knowledge.embeddings import embed_pending
from tests.chaos.process import new_folder

ROOT = Path(__file__).parent.parent
START_SECONDS = 60.0
STOP_SECONDS = 30.0
LOG_LINES = 20

# Of the caller's environment the bot sees these alone: no keys, no settings, no proxy.
KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL")


@dataclass(frozen=True)
class Stage:
    """A Slack, the knowledge behind the bot, and a folder that is gone afterwards."""

    slack: LocalSlack
    knowledge: Knowledge
    folder: Path
    embeddings: str

    @asynccontextmanager
    async def bot(self, *arguments: str, settings: Mapping[str, str]) -> AsyncIterator[None]:
        """`python -m bot ARGUMENTS…` in a process of its own, from "is ready" on.

        Raises `BenchError` with the end of its log if it does not start.
        """
        log = self.folder / f"{'-'.join(arguments)}.log"
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", *arguments),
                cwd=self.folder,  # no `.env` of a developer
                env={**self._environment(), **settings},
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        try:
            assert process.stdout is not None
            line = b""
            with suppress(TimeoutError):
                async with asyncio.timeout(START_SECONDS):
                    line = await process.stdout.readline()
            if b"ready" not in line:
                last = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
                raise BenchError(f"`bot {' '.join(arguments)}` did not start:\n{last}")
            yield
            if process.returncode is not None:
                raise BenchError(f"`bot {' '.join(arguments)}` ended with {process.returncode}.")
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), STOP_SECONDS)
                except TimeoutError:
                    process.kill()
                    await process.wait()

    def asked(self, channel: Channel, on: On) -> list[Message]:
        """The messages in a channel's threads that ask for a decision on the outline or the draft."""
        return [
            reply
            for parent in self.slack.history(channel)
            for reply in self.slack.thread(channel, parent.ts)[1:]
            if asks_for(reply) == on
        ]

    def _environment(self) -> dict[str, str]:
        return {
            **{name: os.environ[name] for name in KEPT if name in os.environ},
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": self.knowledge.dsn,
            "COPYDESK_HOME": str(self.folder),
            "COPYDESK_EMBEDDING_MODEL": self.embeddings,
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "SLACK_API_URL": self.slack.base_url,
        }


@asynccontextmanager
async def open_stage(*, embeddings: str) -> AsyncIterator[Stage]:
    """`embeddings`: `bundled`, with every vector made before anything is measured, or `none`."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(new_folder())
        slack = await stack.enter_async_context(LocalSlack(scopes=bot_scopes(), events=bot_events()))
        settings = DemoSettings(home=folder, embedding_model=embeddings)
        knowledge = await stack.enter_async_context(open_knowledge(settings))
        await knowledge.documents.ingest([SAMPLE])
        if knowledge.embedder is not None:
            while await embed_pending(knowledge.pool, knowledge.embedder, limit=16):
                pass
        yield Stage(slack, knowledge, folder, embeddings)


def sample_bytes() -> int:
    """How large the sample knowledge is."""
    return sum(path.stat().st_size for path in SAMPLE.iterdir())


def asks_for(message: Message) -> On | None:
    """What the button that approves was shown for; None where there is none."""
    for block in message.blocks:
        for element in block.get("elements", ()):
            if element.get("action_id") == APPROVE:
                with suppress(BadButton):
                    return read_value(element["value"]).on
    return None
