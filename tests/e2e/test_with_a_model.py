"""The loop with a model behind an OpenAI-compatible host: every request and answer goes over the wire."""

import asyncio
from typing import Any

import pytest

from agents.contracts import DraftResult
from bot import legs
from bot.app import open_knowledge
from bot.cli import article_json
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge.article import Status
from tests.e2e.desk import PATIENCE, TOPICS, Desk
from tests.editorial_office import HEADINGS, MISSING, WANTED, Office, elements, now, stage_of
from tests.scripted_openai.replies import Reply
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI
from tests.scripted_openai.tokens import prompt_tokens

LANGUAGES = ["en", "zh", "ja"]
NAMES = {"en": "English", "zh": "Chinese (Simplified)", "ja": "Japanese"}
OUTLINE = {"en": "Approve outline {}", "zh": "通过大纲 {}", "ja": "構成案 {} を承認"}
DRAFT = {"en": "Approve draft {}", "zh": "通过草稿 {}", "ja": "原稿 {} を承認"}
APPROVE = {"en": "approve", "zh": "通过", "ja": "承認"}
REVISE = {"en": "revise: {}", "zh": "修改：{}", "ja": "修正：{}"}
REVISE_2 = {"en": "revise 2: {}", "zh": "修改 2：{}", "ja": "修正 2：{}"}
REVISE_3 = {"en": "revise 3: {}", "zh": "修改 3：{}", "ja": "修正 3：{}"}
RESEARCH = {"en": "research: {}", "zh": "补充：{}", "ja": "調査：{}"}
WORDS = {
    "outline": {"en": "say what it costs", "zh": "说明代价", "ja": "費用に触れる"},
    "second": {"en": "name the unit", "zh": "写明单位", "ja": "単位を書く"},
    "third": {"en": "shorter sentences", "zh": "句子短些", "ja": "文を短く"},
    "salts": {
        "en": "What do salts and peppers do?",
        "zh": "加盐和胡椒有什么用？",
        "ja": "PBKDF2 の iterations は何回か",
    },
}


MODEL: dict[str, Any] = {"model": "openai-chat:gpt-4.1-mini"}


def asked(host: ScriptedOpenAI, tool: str) -> list[ChatRequest]:
    """The requests to the agent that answers with this tool, in order."""
    return [request for request in host.requests if stage_of(request) == tool]


def searched_for(host: ScriptedOpenAI) -> list[list[str]]:
    """The questions of each research round beyond the topic."""
    rounds = [request for request in asked(host, "knowledge_search") if not request.tool_results]
    return [elements(request.last_user, "question") for request in rounds]


def wishes(request: ChatRequest) -> list[str]:
    return [wish.text for wish in now(request.last_user)]


async def start_auto(desk: Desk, topic: str) -> Message:
    return await desk.request(f"--auto {topic}")


async def to_outline(desk: Desk, language: str) -> Message:
    parent = await desk.request(TOPICS[language])
    await desk.asked(parent, OUTLINE[language].format(1))
    return parent


async def to_draft(desk: Desk, language: str) -> Message:
    parent = await to_outline(desk, language)
    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language].format(1))
    return parent


async def draft_of(desk: Desk, parent: Message, number: int) -> DraftResult:
    article = await desk.article(parent)
    versions = await desk.knowledge.articles.versions(article.id)
    return DraftResult.model_validate(versions[number - 1]["draft"])


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_people_ask_is_in_every_request_until_it_is_done_and_after(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    await desk.start(**MODEL)
    parent = await to_outline(desk, language)
    await desk.ana.say(desk.channel, REVISE[language].format(WORDS["outline"][language]), thread_ts=parent.ts)
    await desk.asked(parent, OUTLINE[language].format(2))
    assert [wishes(request) for request in asked(host, "return_analysis")] == [
        [],
        [WORDS["outline"][language]],
    ]

    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language].format(1))
    first = await draft_of(desk, parent, 1)
    for request in [*asked(host, "return_section"), *asked(host, "return_review")]:
        assert WORDS["outline"][language] in request.last_user

    sections_before = len(asked(host, "return_section"))
    await desk.bo.say(desk.channel, REVISE_2[language].format(WORDS["second"][language]), thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language].format(2))
    second = await draft_of(desk, parent, 2)
    [rewritten] = asked(host, "return_section")[sections_before:]
    assert wishes(rewritten) == [WORDS["second"][language]]
    assert WORDS["second"][language] in second.sections[1].content
    assert second.sections[1] != first.sections[1]
    for at in {*range(len(first.sections))} - {1}:
        assert second.sections[at] == first.sections[at]  # byte for byte

    await desk.ana.say(desk.channel, REVISE_3[language].format(WORDS["third"][language]), thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language].format(3))
    third = await draft_of(desk, parent, 3)
    assert third.sections[1] == second.sections[1]
    for request in (asked(host, "return_section")[-1], asked(host, "return_review")[-1]):
        said = request.last_user
        assert wishes(request) in ([WORDS["third"][language]], [])
        for earlier in ("outline", "second", "third"):
            assert WORDS[earlier][language] in said

    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    article = await desk.article(parent, Status.PUBLISHED)
    whole = await article_json(desk.knowledge, article)
    assert whole["usage"]["requests"] == len(host.requests)
    assert whole["usage"]["input_tokens"] == sum(prompt_tokens(request.body) for request in host.requests)
    assert whole["usage"]["cost_usd"] > 0
    await desk.slack.wait_for(lambda: "$" in desk.status(parent), PATIENCE)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_approving_over_the_review_names_what_was_open(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = Office(reviews=["revise"])
    await desk.start(**MODEL)
    parent = await to_draft(desk, language)
    await desk.bo.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    published = await desk.said(
        parent, {"en": "is published", "zh": "已发布", "ja": "公開しました"}[language]
    )
    assert "🔴 §1 Review 1." in plain_text(published)
    assert (await desk.article(parent, Status.PUBLISHED)).approved_by == desk.bo.id


@pytest.mark.parametrize("language", LANGUAGES)
async def test_auto_revises_until_the_reviewer_approves(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = Office(reviews=["revise", "approve"])
    await desk.start(**MODEL)
    parent = await start_auto(desk, TOPICS[language])
    await desk.asked(parent, DRAFT[language].format(2))
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (article.version, article.review_count, article.stopped_by) == (2, 2, None)
    # The issue of the first review is the writer's task; the last review is before the reviewer.
    assert "Review 1." in asked(host, "return_section")[-1].last_user
    assert "Review 1." in asked(host, "return_review")[-1].last_user
    first, second = await draft_of(desk, parent, 1), await draft_of(desk, parent, 2)
    assert second.sections[0] != first.sections[0]
    assert second.sections[1:] == first.sections[1:]
    history = await desk.knowledge.articles.history(article.id)
    assert [move["to"] for move in history] == [
        *("researching", "outlining", "writing", "reviewing", "revising", "reviewing", "awaiting_approval")
    ]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_auto_researches_what_the_reviewer_asks_for(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = Office(reviews=["research", "approve"])
    await desk.start(**MODEL)
    parent = await start_auto(desk, TOPICS[language])
    await desk.asked(parent, DRAFT[language].format(2))
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (article.version, article.research_rounds, article.stopped_by) == (2, 1, None)
    first, second = searched_for(host)
    assert first == []
    assert [WANTED[NAMES[language]] in question for question in second] == [True]
    history = await desk.knowledge.articles.history(article.id)
    assert [move["to"] for move in history][4:] == [
        *("researching", "outlining", "revising", "reviewing", "awaiting_approval")
    ]


async def test_auto_stops_where_the_research_rounds_are_used_up(desk: Desk, host: ScriptedOpenAI) -> None:
    host.answer = Office(reviews=["research"])
    await desk.start(**MODEL)
    parent = await start_auto(desk, TOPICS["en"])
    draft = await desk.asked(parent, DRAFT["en"].format(3))
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (article.version, article.research_rounds, article.review_count) == (3, 2, 3)
    assert article.stopped_by == "max_research_rounds"
    assert "max_research_rounds_reached" in plain_text(draft)
    assert len(searched_for(host)) == 3


async def test_research_with_no_rounds_left_is_a_revision_that_says_so(
    desk: Desk, host: ScriptedOpenAI
) -> None:
    host.answer = Office(reviews=["research", "research", "approve"])
    await desk.start(**MODEL, max_research_rounds=1)
    parent = await start_auto(desk, TOPICS["en"])
    draft = await desk.asked(parent, DRAFT["en"].format(3))
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (article.research_rounds, article.review_count, article.stopped_by) == (1, 3, None)
    assert f"Not looked for, since the research rounds are used up: {WANTED['English']}" in plain_text(draft)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_auto_stops_where_the_reviews_are_used_up(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = Office(reviews=["revise"] * 5)
    await desk.start(**MODEL)
    parent = await start_auto(desk, TOPICS[language])
    draft = await desk.asked(parent, DRAFT[language].format(3))
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (article.version, article.review_count, article.stopped_by) == (3, 3, "max_reviews")
    assert "max_reviews_reached" in plain_text(draft)
    assert "Review 3." in plain_text(draft)
    assert len(asked(host, "return_review")) == 3


@pytest.mark.parametrize("words", [REVISE, RESEARCH], ids=["revise", "research"])
@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_stopped_an_article_is_over_once_people_ask_for_more(
    desk: Desk, host: ScriptedOpenAI, language: str, words: dict[str, str]
) -> None:
    host.answer = Office(reviews=["revise"])
    stop = await desk.start(**MODEL, max_reviews=1)
    parent = await start_auto(desk, TOPICS[language])
    await desk.asked(parent, DRAFT[language].format(1))
    assert (await desk.article(parent, Status.AWAITING_APPROVAL)).stopped_by == "max_reviews"
    await stop()
    await desk.start(worker=False, **MODEL, max_reviews=1)  # what comes next is not begun
    await desk.ana.say(desk.channel, words[language].format("MiB"), thread_ts=parent.ts)
    article = await desk.article(parent, Status.REVISING, Status.RESEARCHING)
    assert article.stopped_by is None


@pytest.mark.parametrize("language", LANGUAGES)
async def test_research_that_people_ask_for_brings_new_sources_into_the_next_draft(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    await desk.start(**MODEL)
    parent = await to_draft(desk, language)
    before = set((await draft_of(desk, parent, 1)).used_source_ids)

    question = WORDS["salts"][language]
    await desk.bo.say(desk.channel, RESEARCH[language].format(question), thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language].format(2))
    assert searched_for(host)[-1] == [question]
    second = await draft_of(desk, parent, 2)
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert article.research_rounds == 1
    assert article.research is not None
    known = {source["id"] for source in article.research["sources"]}
    assert before < set(second.used_source_ids) <= known
    assert question in asked(host, "return_section")[-1].last_user


@pytest.mark.parametrize("language", LANGUAGES)
async def test_missing_evidence_gets_one_round_before_the_outline_is_shown(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = Office(lacks_evidence=[True])
    await desk.start(**MODEL)
    parent = await desk.request(TOPICS[language])
    outline = await desk.asked(parent, OUTLINE[language].format(1))
    missing = MISSING[NAMES[language]]
    assert searched_for(host) == [[], [missing]]
    assert len(asked(host, "return_analysis")) == 2
    assert missing in plain_text(outline)  # it was not found: people see it
    assert (await desk.article(parent)).research_rounds == 1


async def test_chat_at_one_host_and_embeddings_at_another(desk: Desk, host: ScriptedOpenAI) -> None:
    async with ScriptedOpenAI(no_chat, models=()) as vectors:
        desk.settings = desk.settings.model_copy(
            update={
                "embedding_model": "openai:text-embedding-3-small",
                "embedding_base_url": vectors.base_url,
                "embedding_api_key": vectors.api_key,
            }
        )
        async with open_knowledge(desk.settings) as knowledge:
            desk.knowledge = knowledge
            stop = await desk.start(**MODEL)
            await desk.vectors()
            parent = await desk.request(TOPICS["ja"])
            await desk.asked(parent, OUTLINE["ja"].format(1))
            await stop()
        assert TOPICS["ja"] in [text for request in vectors.embedding_requests for text in request.inputs]
        assert vectors.refusals == []
        assert vectors.requests == []
        assert host.embedding_requests == []


def no_chat(request: ChatRequest) -> Reply:
    raise AssertionError("this host gives vectors")


async def test_the_language_that_is_set_goes_before_the_topics(desk: Desk, host: ScriptedOpenAI) -> None:
    await desk.start(**MODEL, language="ja")
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, OUTLINE["ja"].format(1))
    assert elements(asked(host, "return_analysis")[0].last_user, "language") == ["Japanese"]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_people_see_what_is_searched_and_what_is_written(
    desk: Desk, host: ScriptedOpenAI, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "PROGRESS_EVERY_SECONDS", 0.05)
    office, seen, go_on = Office(), asyncio.Event(), asyncio.Event()

    async def answer(request: ChatRequest) -> Reply:
        """The report, and the second section, are late."""
        second = '\n\n<section number="2">' in request.last_user and stage_of(request) == "return_section"
        await (seen.wait() if request.tool_results else go_on.wait() if second else asyncio.sleep(0))
        return office(request)

    async def status_says(*words: str) -> None:
        await desk.slack.wait_for(lambda: all(word in desk.status(parent) for word in words), PATIENCE)

    host.answer = answer
    await desk.start(**MODEL)
    parent = await desk.request(TOPICS[language])
    quoted = {"en": "“{}”", "zh": "“{}”", "ja": "「{}」"}[language]
    await status_says(quoted.format(TOPICS[language][:20]).rstrip("”」"))
    seen.set()
    await desk.asked(parent, OUTLINE[language].format(1))
    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    done = {"en": "2 of 3", "zh": "2/3", "ja": "3 節中 2"}[language]
    await status_says(done, f"§2 {HEADINGS[NAMES[language]][1]}")
    go_on.set()
    await desk.asked(parent, DRAFT[language].format(1))
    assert "§2" not in desk.status(parent)
