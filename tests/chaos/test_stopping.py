"""SIGTERM while something outside does not answer: within the grace time, with exit code 0."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.app import STOP_SECONDS
from bot.local_slack.people import Person
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel
from bot.manifest import bot_events, bot_scopes
from tests.chaos.databases import Databases
from tests.chaos.process import BotProcess, new_folder, settings_of
from tests.scripted_openai.replies import Hang
from tests.scripted_openai.server import ScriptedOpenAI

PATIENCE = 60.0


@asynccontextmanager
async def serving(
    databases: Databases, *arguments: str
) -> AsyncIterator[tuple[LocalSlack, ScriptedOpenAI, Person, Channel, BotProcess]]:
    """A bot that Slack has heard of, whose model does not answer."""
    async with (
        databases.copy() as dsn,
        LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack,
        ScriptedOpenAI(lambda _: Hang(), models=("gpt-4.1-mini",)) as host,
    ):
        ana = slack.add_person("Ana")
        channel = slack.add_channel("articles", [ana, slack.bot])
        with new_folder() as folder:
            settings = settings_of(dsn, folder, slack, host)
            bot = await BotProcess.start("serve", *arguments, settings=settings, log=folder / "log")
            try:
                await slack.wait_for(lambda: slack.connections, PATIENCE)
                yield slack, host, ana, channel, bot
            finally:
                bot.kill()
                await bot.ended()


async def test_a_stop_while_slack_does_not_answer_a_message_is_a_good_one(databases: Databases) -> None:
    async with serving(databases, "--no-worker") as (slack, _, ana, channel, bot):
        slack.fail("chat.postMessage", drop="never")
        await ana.command(channel, "/article", "密码哈希")
        await slack.wait_for(lambda: slack.history(channel), PATIENCE)
        assert await bot.stop() == 0, bot.trouble()


async def test_a_stop_while_a_leg_and_a_listener_wait_is_a_good_one(databases: Databases) -> None:
    async with serving(databases) as (slack, host, ana, channel, bot):
        await ana.command(channel, "/article", "パスワードの保存")
        await host.wait_for(lambda: host.under_way, PATIENCE)
        slack.fail("users.info", drop="never")
        before = len(slack.calls_of("users.info"))
        await ana.command(channel, "/article", "密码哈希")
        await slack.wait_for(lambda: len(slack.calls_of("users.info")) > before, PATIENCE)
        began = asyncio.get_running_loop().time()
        code = await bot.stop()
        took = asyncio.get_running_loop().time() - began
        assert (code, took < STOP_SECONDS) == (0, True), bot.trouble()
