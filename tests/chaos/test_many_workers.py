"""Workers that die and workers that are told to stop, with articles at work."""

import asyncio
from collections.abc import Callable

import asyncpg

from bot.jobs import GRACE_SECONDS
from bot.local_slack.server import LocalSlack
from bot.manifest import bot_events, bot_scopes
from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle
from knowledge.database import open_pool
from tests.chaos.databases import Databases
from tests.chaos.many_workers import order_problems, walk_problems, work
from tests.chaos.office import Memory, SteadyOffice
from tests.chaos.process import BotProcess, new_folder, settings_of
from tests.scripted_openai.replies import Hang, Reply
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

PATIENCE = 90.0
TOPICS = [
    "Why should Go backends move from MD5 to Argon2id?",
    "What should a Go team know about MD5?",
    "Which risks come with bcrypt in a password store?",
    "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    "请介绍密码迁移。",
    "Argon2id 的参数是什么？",
    "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか",
    "パスワードの保存で MD5 はなぜ重要か",
]


async def test_articles_of_workers_that_are_killed_are_finished_by_others(databases: Databases) -> None:
    worked = await work(databases, TOPICS, workers=2, kills=2, every=1.0, delay=1.0)
    assert worked.problems() == []
    assert worked.kills == 2
    assert worked.takeovers, "no leg was interrupted: the kills came too late"
    assert worked.asked_again <= worked.asked // 3


async def test_a_worker_that_is_told_to_stop_finishes_its_leg(databases: Databases) -> None:
    office = Memory(SteadyOffice(), delay=0.5)
    code, states, legs = await stopped_at_the_first_call(databases, office.answer)
    assert (code, states) == (0, ["outlining"])
    assert legs == [(1, "doing"), (1, "succeeded")]


async def test_a_worker_whose_leg_does_not_end_hands_it_back(databases: Databases) -> None:
    code, states, legs = await stopped_at_the_first_call(databases, lambda _: Hang())
    assert (code, states) == (0, ["researching"])
    assert legs == [(1, "doing"), (1, "todo")]


async def stopped_at_the_first_call(
    databases: Databases, answer: Callable[[ChatRequest], Reply]
) -> tuple[int, list[str], list[tuple[int, str]]]:
    """SIGTERM while a model is asked: exit code, states of articles, and what became of legs."""
    async with (
        databases.copy() as dsn,
        LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack,
        ScriptedOpenAI(answer, models=("gpt-4.1-mini",)) as host,
    ):
        with new_folder() as folder:
            settings = settings_of(dsn, folder, slack, host)
            connection = await asyncpg.connect(dsn)
            worker = await BotProcess.start("worker", settings=settings, log=folder / "worker.log")
            try:
                await add_article(dsn)
                await host.wait_for(lambda: host.under_way, PATIENCE)
                async with asyncio.timeout(GRACE_SECONDS + 15):
                    code = await worker.stop()
                articles = await connection.fetch("select status from articles")
                legs = await connection.fetch("select moves, event from chaos_legs order by id")
            finally:
                worker.kill()
                await worker.ended()
                await connection.close()
    return code, [row["status"] for row in articles], [(row["moves"], row["event"]) for row in legs]


async def add_article(dsn: str) -> None:
    """As `/article` does, without Slack."""
    pool = await open_pool(dsn)
    try:
        new = NewArticle(TOPICS[3], "zh", Mode.SUPERVISED, "T1", "C1", "U1")
        await Articles(pool).add(new, first_messages=lambda _: [])
    finally:
        await pool.close()


def test_the_order_of_legs_is_checked() -> None:
    right = [leg(1, "doing"), leg(1, "todo"), leg(1, "doing"), leg(1, "succeeded"), leg(2, "doing")]
    assert list(order_problems(7, right)) == []
    [told] = order_problems(7, [leg(1, "doing"), leg(2, "doing")])
    assert "while leg 1 was at work" in told
    [told] = order_problems(7, [leg(2, "doing"), leg(2, "succeeded"), leg(1, "doing")])
    assert "leg 1 started after leg 2" in told


def test_the_walk_of_an_article_is_checked() -> None:
    walk = [move(None, "researching"), move("researching", "outlining")]
    assert list(walk_problems(7, walk, 2)) == []
    assert len(list(walk_problems(7, [*walk, walk[1]], 2))) == 2
    assert len(list(walk_problems(7, walk[:1], 2))) == 1


def leg(moves: int, event: str) -> dict[str, object]:
    return {"moves": moves, "event": event}


def move(before: str | None, after: str) -> dict[str, object]:
    return {"from_status": before, "to_status": after}
