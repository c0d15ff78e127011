"""What people see when a model's host fails, the budget is used up or somebody cancels: over the wire."""

import re
from collections.abc import Callable

import pytest

from bot.cli import article_json
from bot.local_slack.plain_text import plain_text
from knowledge.article import Status
from tests.e2e.desk import PATIENCE, TOPICS, Desk
from tests.e2e.test_with_a_model import (
    APPROVE,
    DRAFT,
    LANGUAGES,
    MODEL,
    OUTLINE,
    REVISE,
    asked,
    to_draft,
    to_outline,
)
from tests.editorial_office import Office, stage_of
from tests.scripted_openai.replies import Failure, Hang, Reply
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI


def office_with(tool: str, reply: Reply) -> Callable[[ChatRequest], Reply]:
    """An office in which one agent, by its tool, gets something else from the host."""
    office = Office()
    return lambda request: reply if stage_of(request) == tool else office(request)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_cancel_ends_calls_that_are_under_way_and_makes_no_other(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    host.answer = office_with("return_section", Hang())
    await desk.start(**MODEL)
    parent = await to_outline(desk, language)
    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    await host.wait_for(lambda: len(asked(host, "return_section")) == 3)
    cancel = {"en": "cancel", "zh": "取消", "ja": "取消"}[language]
    await desk.ana.say(desk.channel, cancel, thread_ts=parent.ts)
    article = await desk.article(parent, Status.CANCELLED)
    await host.wait_for(lambda: host.under_way == 0)
    assert all(request.gone for request in asked(host, "return_section"))
    # What was paid for before stands in the account; of what was cut off no host says what it used.
    answered = [request for request in host.requests if not request.gone]
    usage = (await desk.usage(article, requests=len(answered)))["requests"]
    assert usage == len(answered)
    assert asked(host, "return_review") == []


@pytest.mark.parametrize(
    ("reply", "words", "tries"),
    [
        (Failure(401, "invalid_api_key", "Incorrect API key provided."), "OPENAI_API_KEY", 1),
        (Failure(404, "model_not_found", "The model does not exist."), "COPYDESK_MODEL", 1),
        (Failure.html(404), "OPENAI_BASE_URL", 1),
        (Failure.no_quota(), "credit", 1),
    ],
    ids=["key", "model", "page", "credit"],
)
async def test_a_host_that_refuses_is_told_with_what_to_do_and_retry_goes_on(
    desk: Desk, host: ScriptedOpenAI, reply: Reply, words: str, tries: int
) -> None:
    host.answer = office_with("return_analysis", reply)
    await desk.start(**MODEL)
    parent = await desk.request(TOPICS["en"])
    await desk.article(parent, Status.FAILED)
    stopped = await desk.said(parent, "Stopped:")
    assert words in plain_text(stopped)
    assert len(asked(host, "return_analysis")) == tries
    searches = len(asked(host, "knowledge_search"))
    host.answer = Office()
    await desk.ana.say(desk.channel, "retry", thread_ts=parent.ts)
    await desk.asked(parent, OUTLINE["en"].format(1))
    assert len(asked(host, "knowledge_search")) == searches  # what was found is kept


async def test_a_busy_host_is_asked_again_and_nobody_notices(desk: Desk, host: ScriptedOpenAI) -> None:
    office = Office()
    failures = [Failure.rate_limited(retry_after=0.2), Failure.server_error()]

    def answer(request: ChatRequest) -> Reply:
        if stage_of(request) == "return_analysis" and failures:
            return failures.pop(0)
        return office(request)

    host.answer = answer
    await desk.start(**MODEL)
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, OUTLINE["en"].format(1))
    assert len(asked(host, "return_analysis")) == 3
    assert "Stopped" not in "".join(plain_text(message) for message in desk.thread(parent))


async def test_without_a_draft_a_used_up_budget_stops_the_article_and_retry_goes_on(
    desk: Desk, host: ScriptedOpenAI
) -> None:
    stop = await desk.start(**MODEL, budget_tokens=1)
    parent = await desk.request(TOPICS["en"])
    article = await desk.article(parent, Status.FAILED)
    assert article.error is not None
    assert (article.error.leg, article.error.code) == (Status.RESEARCHING, "budget")
    assert "COPYDESK_BUDGET_TOKENS" in plain_text(await desk.said(parent, "Stopped:"))
    assert len(host.requests) == 1  # the first call was allowed, no other

    await stop()
    await desk.start(**MODEL)
    await desk.ana.say(desk.channel, "retry", thread_ts=parent.ts)
    await desk.asked(parent, OUTLINE["en"].format(1))


@pytest.mark.parametrize("language", LANGUAGES)
async def test_at_the_budget_people_get_the_draft_there_is(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    stop = await desk.start(**MODEL)
    parent = await to_draft(desk, language)
    used = (await article_json(desk.knowledge, await desk.article(parent)))["usage"]
    await stop()

    # Planned, but not written any more.
    stop = await desk.start(**MODEL, budget_tokens=used["input_tokens"] + used["output_tokens"] + 1)
    await desk.ana.say(desk.channel, REVISE[language].format("MiB"), thread_ts=parent.ts)
    gate = await desk.said(parent, "budget_reached")
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (article.version, article.stopped_by) == (1, "budget")
    assert article.error is not None
    assert [request.text for request in article.taken] == ["MiB"]  # not lost: still to be done
    assert f"{DRAFT[language].format(1)}]" in plain_text(gate)
    await desk.slack.wait_for(lambda: "[" in desk.status(parent), PATIENCE)

    await stop()
    await desk.start(**MODEL)
    await desk.ana.say(
        desk.channel, {"en": "retry", "zh": "重试", "ja": "再試行"}[language], thread_ts=parent.ts
    )
    await desk.asked(parent, DRAFT[language].format(2))
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (article.version, article.stopped_by, article.error) == (2, None, None)
    assert article.draft is not None
    assert "MiB" in article.draft["content"]


async def test_a_draft_that_nobody_has_reviewed_is_delivered_as_such(
    desk: Desk, host: ScriptedOpenAI
) -> None:
    stop = await desk.start(**MODEL)
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, OUTLINE["en"].format(1))
    used = (await article_json(desk.knowledge, await desk.article(parent)))["usage"]
    await stop()
    # The sections and the title start at once, before any of them is counted; the review comes after.
    await desk.start(**MODEL, budget_tokens=used["input_tokens"] + used["output_tokens"] + 1)
    await desk.ana.say(desk.channel, "approve", thread_ts=parent.ts)
    draft = await desk.asked(parent, DRAFT["en"].format(1))
    assert "Not reviewed" in plain_text(draft)
    assert asked(host, "return_review") == []
    await desk.ana.say(desk.channel, "approve", thread_ts=parent.ts)
    article = await desk.article(parent, Status.PUBLISHED)
    assert article.stopped_by == "budget"


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_published_article_gets_a_new_version_and_is_pointed_out_for_a_similar_topic(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    await desk.start(**MODEL)
    parent = await to_draft(desk, language)
    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    first = await desk.article(parent, Status.PUBLISHED)

    await desk.bo.say(desk.channel, REVISE[language].format("MiB"), thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language].format(2))
    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    second = await desk.article(parent, Status.PUBLISHED)
    assert (first.version, second.version) == (1, 2)

    similar = TOPICS[language].replace("MD5", "bcrypt")
    other = await desk.request(similar)
    outline = plain_text(await desk.asked(other, OUTLINE[language].format(1)))
    assert second.draft is not None
    label = {"en": "Published before", "zh": "已发布的相近主题", "ja": "公開済み記事"}[language]
    assert label in outline
    assert second.draft["title"] in outline
    last = asked(host, "return_analysis")[-1].last_user
    assert f"<published>\n<title>{second.draft['title']}</title>" in last
    assert second.draft["sections"][0]["content"] not in last


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_the_budget_left_undone_is_told_when_people_publish_all_the_same(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    stop = await desk.start(**MODEL)
    parent = await to_draft(desk, language)
    used = (await article_json(desk.knowledge, await desk.article(parent)))["usage"]
    await stop()
    stop = await desk.start(**MODEL, budget_tokens=used["input_tokens"] + used["output_tokens"] + 1)
    await desk.ana.say(desk.channel, REVISE[language].format("MiB"), thread_ts=parent.ts)
    await desk.said(parent, "budget_reached")
    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    label = {"en": "Not carried out", "zh": "没有做到", "ja": "反映されなかった"}[language]
    assert "MiB" in plain_text(await desk.said(parent, label))
    article = await desk.article(parent, Status.PUBLISHED)
    assert (article.taken, article.waiting) == ((), ())
    assert [decision.outcome for decision in article.decisions if decision.text == "MiB"] != [None]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_model_that_cannot_read_all_evidence_works_from_the_best_of_it_and_the_thread_says_so(
    desk: Desk, host: ScriptedOpenAI, language: str
) -> None:
    office, most = Office(), dict[str, int]()

    def answer(request: ChatRequest) -> Reply:
        """What each agent is first given to read is a twentieth too long."""
        stage = stage_of(request)
        given = sum(len(found.text) for found in request.tool_results) or len(request.last_user)
        reads = request.tool_results or stage in ("return_analysis", "return_review")
        if reads and given > most.setdefault(stage, given * 19 // 20):
            return Failure(400, None, "the request exceeds the available context size")  # llama.cpp
        return office(request)

    host.answer = answer
    await desk.start(**MODEL)
    parent = await to_draft(desk, language)
    notes = [plain_text(message) for message in desk.bots(parent) if "gpt-4.1-mini" in plain_text(message)]
    legs = {
        "en": ("the research", "the outline", "the review"),
        "zh": ("检索", "大纲", "审稿"),
        "ja": ("調査", "構成案", "レビュー"),
    }[language]
    assert [leg in note for leg, note in zip(legs, notes, strict=True)] == [True, True, True]
    assert all(re.search(r"\b(50|25|13)%", note) for note in notes)
    assert all(
        'left_out="' in asked(host, stage)[-1].last_user for stage in ("return_analysis", "return_review")
    )
    # What was refused was asked again with less, never in the same words.
    texts = [request.text for request in host.requests]
    assert len(set(texts)) == len(texts)
