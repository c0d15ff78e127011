"""What is wrong is answered in one clear sentence; nothing is lost and nothing is half done."""

from pathlib import Path

import pytest

from bot.local_slack.plain_text import plain_text
from knowledge.article import Status
from tests.e2e.desk import PATIENCE, TOPICS, Desk


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("", "A topic is missing"),
        ("   ", "A topic is missing"),
        ("x" * 5000, "5,000 characters"),
        ("长" * 5000, "5,000 个字符"),
        ("🎉🎉 :tada:", "a topic in words"),
        ("cancel", "Which article?"),
    ],
)
async def test_a_command_that_cannot_start_an_article_says_why_at_once(
    desk: Desk, typed: str, answer: str
) -> None:
    await desk.start(worker=False)
    answered = await desk.ana.command(desk.channel, "/article", typed)
    assert answer in answered.text
    assert desk.slack.history(desk.channel) == []
    assert await desk.knowledge.articles.newest() == []


async def test_where_the_bot_cannot_post_it_says_what_to_do(desk: Desk) -> None:
    await desk.start(worker=False)
    public = desk.slack.add_channel("public", [desk.ana])
    private = desk.slack.add_channel("private", [desk.ana], private=True)
    archived = desk.slack.add_channel("old", [desk.ana, desk.slack.bot], is_archived=True)
    for channel, words in ((public, "/invite"), (private, "/invite"), (archived, "archived")):
        before = len(desk.ana.ephemerals)
        await desk.ana.command(channel, "/article", TOPICS["en"])
        said = plain_text(await desk.next_whisper(desk.ana, before))
        assert words in said
        assert TOPICS["en"] in said  # to be typed again
    assert await desk.knowledge.articles.newest() == []


async def test_an_empty_knowledge_base_is_named_before_anything_starts(desk: Desk) -> None:
    await desk.knowledge.pool.execute("delete from documents")
    await desk.start(worker=False)
    await desk.ana.command(desk.channel, "/article", TOPICS["ja"])
    await desk.told(desk.ana, "ナレッジベースが空")
    assert await desk.knowledge.articles.newest() == []


async def test_a_topic_that_nothing_is_about_fails_and_can_be_tried_again(desk: Desk, tmp_path: Path) -> None:
    await desk.start()
    parent = await desk.request("How do bakers keep a sourdough starter alive?")
    await desk.said(parent, "Nothing in the knowledge base")
    article = await desk.article(parent, Status.FAILED)
    assert article.error is not None
    assert (article.error.leg, article.error.code) == (Status.RESEARCHING, "nothing_found")
    note = tmp_path / "sourdough.md"
    note.write_text(
        "# Sourdough starter\n\nA sourdough starter stays alive when bakers feed it every day.\n\n"
        "## Cold\n\nIn a refrigerator bakers feed a sourdough starter once a week.\n\n"
        "## Signs\n\nA sourdough starter that doubles within six hours is alive and ready to bake with.\n"
    )
    await desk.knowledge.documents.ingest([note])
    await desk.slack.wait_for(lambda: "[Retry]" in desk.status(parent), PATIENCE)
    await desk.bo.say(desk.channel, "retry", thread_ts=parent.ts)
    await desk.asked(parent, "Approve outline 1")


async def test_the_same_topic_again_is_pointed_out_and_can_go_on(desk: Desk) -> None:
    await desk.start(worker=False)
    await desk.request(TOPICS["zh"])
    await desk.bo.command(desk.channel, "/article", TOPICS["zh"])
    offer = await desk.told(desk.bo, "同一主题")
    assert len(desk.slack.history(desk.channel)) == 1
    await desk.bo.click(offer, "start_anyway")
    await desk.slack.wait_for(lambda: len(desk.slack.history(desk.channel)) == 2, PATIENCE)
    await desk.bo.click(offer, "start_anyway")  # twice is once
    await desk.told(desk.bo, "新开一篇")
    assert len(await desk.knowledge.articles.newest()) == 2


async def test_hostile_text_in_a_topic_pings_nobody(desk: Desk) -> None:
    from bot.local_slack.plain_text import notifies

    await desk.start(worker=False)
    parent = await desk.request("<!channel> & <@U0LOCAL0001> *Argon2id* `MD5` 密码 <https://example.com|x>")
    shown = desk.slack.current(parent)
    assert shown is not None
    assert [ping for ping in notifies(shown) if ping != f"@{desk.ana.id}"] == []
    assert "<!channel>" in plain_text(shown)
