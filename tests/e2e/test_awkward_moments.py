"""What people said while agents were at work, and what they see when something then ends too soon."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from bot.cli import article_json
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge.article import Status
from tests.e2e.desk import PATIENCE, TOPICS, Desk
from tests.e2e.test_with_a_model import (
    APPROVE,
    DRAFT,
    LANGUAGES,
    MODEL,
    NAMES,
    OUTLINE,
    RESEARCH,
    REVISE,
    WORDS,
    asked,
    searched_for,
    start_auto,
    to_draft,
    to_outline,
    wishes,
)
from tests.editorial_office import WANTED, Office, stage_of
from tests.scripted_openai.replies import Reply, Text, ToolCalls, Usage
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

BUDGET = 400_000  # as it is set when nobody sets it

BARE_REVISE = {"en": "revise", "zh": "修改", "ja": "修正"}
BARE_RESEARCH = {"en": "research", "zh": "补充", "ja": "調査"}
KEPT = {"en": "Kept for", "zh": "已记下", "ja": "に反映します"}
NOT_REVIEWED = {"en": "Not reviewed", "zh": "尚未审稿", "ja": "レビュー未実施"}
NOT_LOOKED_FOR = {"en": "Not looked for", "zh": "未再检索", "ja": "調べていません"}


@dataclass
class Held:
    """An office in which one agent, by its tool, answers only once it is let go, for so many `tokens`."""

    tool: str
    office: Office = field(default_factory=Office)
    tokens: int | None = None
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, request: ChatRequest) -> Reply:
        reply = self.office(request)
        if stage_of(request) == self.tool:
            await self.let_go.wait()
            if self.tokens is not None and isinstance(reply, ToolCalls | Text):
                return replace(reply, usage=Usage(self.tokens, 10))
        return reply


async def say_while_asked(
    desk: Desk, host: ScriptedOpenAI, parent: Message, tool: str, *, first: str, then: str
) -> None:
    """Ana says one thing, and Bo another while the agent of this tool, which is held, works on it."""
    before = len(asked(host, tool))
    await desk.ana.say(desk.channel, first, thread_ts=parent.ts)
    await host.wait_for(lambda: len(asked(host, tool)) > before)
    said = len(desk.bots(parent))
    await desk.bo.say(desk.channel, then, thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: len(desk.bots(parent)) > said, PATIENCE)


async def all_heard(desk: Desk) -> None:
    """Before a bot is stopped: Slack counts what it did not acknowledge."""
    await desk.slack.wait_for(lambda: all(event.acked for event in desk.slack.events), PATIENCE)


async def moves(desk: Desk, parent: Message) -> list[str]:
    history = await desk.knowledge.articles.history((await desk.article(parent)).id)
    return [move["to"] for move in history]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("words", [BARE_REVISE, BARE_RESEARCH], ids=["revise", "research"])
async def test_a_bare_word_kept_for_a_review_that_asks_for_nothing_costs_nothing(
    desk: Desk, host: ScriptedOpenAI, words: dict[str, str], language: str
) -> None:
    host.answer = held = Held("return_review")
    await desk.start(**MODEL)
    parent = await to_outline(desk, language)
    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    await host.wait_for(lambda: asked(host, "return_review"))
    await desk.bo.say(desk.channel, words[language], thread_ts=parent.ts)
    await desk.said(parent, KEPT[language])
    held.let_go.set()
    await desk.asked(parent, DRAFT[language].format(1))
    assert (await moves(desk, parent))[-3:] == ["writing", "reviewing", "awaiting_approval"]
    article = await desk.article(parent)
    assert article.waiting == article.taken == ()


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_became_of_a_request_is_told_even_if_another_was_kept_meanwhile(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    await desk.start(**MODEL)
    parent = await to_outline(desk, language)
    first, second = WORDS["outline"][language], WORDS["third"][language]
    for tool, gate in (("return_analysis", OUTLINE), ("return_plan", DRAFT)):
        host.answer = held = Held(tool)
        revise = REVISE[language].format
        await say_while_asked(desk, host, parent, tool, first=revise(first), then=revise(second))
        held.let_go.set()
        shown = plain_text(await desk.asked(parent, gate[language].format(2)))
        assert f"✓ {first}" in shown
        assert f"✓ {second}" in shown
        if gate is OUTLINE:
            await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
            await desk.asked(parent, DRAFT[language].format(1))


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_the_last_research_round_looked_for_is_not_said_to_be_left_out(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = Office(reviews=["research", "research", "approve"])
    await desk.start(**MODEL, max_research_rounds=1)
    parent = await start_auto(desk, TOPICS[language])
    third = plain_text(await desk.asked(parent, DRAFT[language].format(3)))
    assert [bool(questions) for questions in searched_for(host)] == [False, True]
    assert WANTED[NAMES[language]] in searched_for(host)[1][0]
    versions = await desk.knowledge.articles.versions((await desk.article(parent)).id)
    notes = ["".join(version["draft"]["notes"]) for version in versions]
    assert [NOT_LOOKED_FOR[language] in said for said in notes] == [False, False, True]
    assert NOT_LOOKED_FOR[language] in third


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_draft_that_was_reviewed_before_the_budget_ended_brings_its_review(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = held = Held("return_review", Office(reviews=["revise"]), tokens=BUDGET)
    stop = await desk.start(**MODEL)
    parent = await to_outline(desk, language)
    question = WORDS["salts"][language]
    research = RESEARCH[language].format(question)
    await say_while_asked(desk, host, parent, "return_review", first=APPROVE[language], then=research)
    held.let_go.set()
    draft = plain_text(await desk.asked(parent, DRAFT[language].format(1)))
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (await moves(desk, parent))[-2:] == ["researching", "awaiting_approval"]
    assert NOT_REVIEWED[language] not in draft
    assert "Review 1." in draft
    assert article.review is not None
    [review] = (await article_json(desk.knowledge, article))["reviews"]
    assert (review["version"], article.version) == (1, 1)

    # The question is looked into with the next request, of which it is a part.
    await all_heard(desk)
    await stop()
    host.answer = Office()
    await desk.start(**MODEL, budget_tokens=2 * BUDGET)
    await desk.ana.say(desk.channel, REVISE[language].format("MiB"), thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language].format(2))
    assert searched_for(host)[-1] == [question]
    assert (await moves(desk, parent))[-5:] == [
        *("researching", "outlining", "revising", "reviewing", "awaiting_approval")
    ]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_requests_kept_when_the_budget_ended_are_one_with_the_next(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = held = Held("return_plan", tokens=BUDGET)
    stop = await desk.start(**MODEL)
    parent = await to_draft(desk, language)
    first, second = WORDS["second"][language], WORDS["third"][language]
    revise = REVISE[language].format
    await say_while_asked(desk, host, parent, "return_plan", first=revise(first), then=revise(second))
    held.let_go.set()
    await desk.said(parent, "budget_reached")
    await all_heard(desk)
    await stop()

    host.answer = Office()
    await desk.start(**MODEL, budget_tokens=2 * BUDGET)
    await desk.ana.say(desk.channel, revise("MiB"), thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language].format(2))
    assert wishes(asked(host, "return_plan")[-1]) == [first, second, "MiB"]
    assert len(asked(host, "return_review")) == 2
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert article.waiting == article.taken == ()


@pytest.mark.parametrize("said", ["I cannot\x00.", "我不能\x00。", "でき\x00ません。"])
@pytest.mark.parametrize("tool", ["knowledge_search", "return_analysis"])
async def test_an_answer_that_no_database_takes_fails_once_and_is_kept(
    desk: Desk, host: ScriptedOpenAI, tool: str, said: str
) -> None:
    office = Office()
    host.answer = lambda request: Text(said, broken=True) if stage_of(request) == tool else office(request)
    await desk.start(**MODEL)
    parent = await desk.request(TOPICS["en"])
    article = await desk.article(parent, Status.FAILED)
    assert article.error is not None
    assert article.error.code == "bad_answer"
    [*_, last] = await desk.knowledge.articles.history(article.id)
    assert said.replace("\x00", "\ufffd") in last["why"]
    asked_before = len(host.requests)
    host.answer = office
    await desk.ana.say(desk.channel, "retry", thread_ts=parent.ts)
    await desk.asked(parent, OUTLINE["en"].format(1))
    assert len(host.requests) > asked_before


async def test_a_new_version_of_a_published_article_has_not_been_approved(
    desk: Desk, host: ScriptedOpenAI
) -> None:
    await desk.start(**MODEL)
    parent = await to_draft(desk, "en")
    await desk.ana.say(desk.channel, "approve", thread_ts=parent.ts)
    published = await desk.article(parent, Status.PUBLISHED)
    assert published.approved_by == desk.ana.id
    await desk.bo.say(desk.channel, "revise: MiB", thread_ts=parent.ts)
    await desk.asked(parent, DRAFT["en"].format(2))
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (await article_json(desk.knowledge, article))["approved_by"] is None
    await desk.bo.say(desk.channel, "approve", thread_ts=parent.ts)
    assert (await desk.article(parent, Status.PUBLISHED)).approved_by == desk.bo.id
