"""What is counted while articles are made: moves, messages, duplicates, retries, replays."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agents.models import models_from
from agents.patience import Patience
from knowledge.article import Status
from knowledge.database import Pool
from tests.e2e.desk import PATIENCE, TOPICS, Desk
from tests.integration.test_journal import Host, host, killed, stage
from tests.integration.test_legs import Stage
from tests.meter import counted
from tests.scripted_openai.replies import Failure, Hang, Reply
from tests.scripted_openai.request import ChatRequest

__all__ = ["host", "stage"]  # fixtures

CANCEL = {"en": "cancel", "zh": "取消", "ja": "取消"}


def since(name: str, **attributes: str) -> Callable[[], int]:
    """How much has been counted since now."""
    before = counted(name, **attributes)
    return lambda: counted(name, **attributes) - before


def in_thread(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments.get("thread_ts"))


@pytest.mark.parametrize("language", TOPICS)
async def test_moves_and_messages_are_counted_as_they_happen(desk: Desk, language: str) -> None:
    begun = since("copydesk.article.moves", **{"from": "new", "to": "researching"})
    asked = since("copydesk.article.moves", to="awaiting_outline")
    cancelled = since("copydesk.article.moves", to="cancelled")
    posted, edited = (since("copydesk.messages.sent", how=how) for how in ("posted", "edited"))
    await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    await desk.slack.wait_for(lambda: desk.bots(parent), PATIENCE)
    await desk.ana.say(desk.channel, CANCEL[language], thread_ts=parent.ts)
    await desk.article(parent, Status.CANCELLED)
    unsent = "select count(*) from outbox where sent_revision < revision"
    await desk.slack.wait_for(lambda: len(desk.bots(parent)) > 1, PATIENCE)
    await desk.until(unsent, 0)
    assert (begun(), asked(), cancelled()) == (1, 1, 1)
    assert posted() == 1 + len(desk.bots(parent))
    assert edited() == len(desk.slack.calls_of("chat.update"))


async def test_second_deliveries_that_do_nothing_are_counted(desk: Desk) -> None:
    await desk.start()
    parent = await desk.request(TOPICS["zh"])
    await desk.asked(parent, "通过大纲 1")
    dropped = since("copydesk.duplicates.dropped")
    said = await desk.ana.say(desk.channel, "修改：删掉第 1 节", thread_ts=parent.ts)
    await desk.asked(parent, "通过大纲 2")
    assert dropped() == 0
    [event] = desk.slack.events_about(said)
    assert await desk.slack.redeliver(event)
    await desk.stack.aclose()  # what was heard has been looked at now
    assert dropped() == 1


async def test_messages_that_slack_takes_later_or_has_already_are_counted(desk: Desk) -> None:
    later, unsure = (since("copydesk.messages.not_sent", why=why) for why in ("later", "unsure"))
    found = since("copydesk.messages.sent", how="found")
    desk.slack.fail("chat.postMessage", error="ratelimited", status=429, retry_after=1, when=in_thread)
    await desk.start()
    parent = await desk.request(TOPICS["ja"])
    await desk.said(parent, "構成案 1")
    assert (later(), unsure(), found()) == (1, 0, 0)
    desk.slack.fail("chat.postMessage", drop="after", when=in_thread)
    await desk.ana.say(desk.channel, "取消", thread_ts=parent.ts)
    await desk.article(parent, Status.CANCELLED)
    await desk.until("select count(*) from outbox where sent_revision < revision", 0)
    assert (later(), unsure(), found()) == (1, 1, 1)


async def test_requests_to_a_model_that_are_made_again_are_counted(stage: Stage, host: Host) -> None:
    again = since("copydesk.model.retries", model="gpt-4.1-mini")
    failures = iter([Failure.overloaded(), Failure.overloaded()])
    host.spoilt = lambda request: next(failures, None)
    models = models_from("openai-chat:gpt-4.1-mini", patience=Patience(first_wait=0.01))
    async with models.connected():
        article = await stage.work(await stage.start("ja"), models)
    assert article.status is Status.OUTLINING
    assert again() == 2


async def test_calls_that_are_not_made_again_are_counted(stage: Stage, host: Host, pool: Pool) -> None:
    models, searches = (since("copydesk.journal.replays", of=of) for of in ("model", "search"))

    def report_hangs(request: ChatRequest) -> Reply | None:
        return Hang() if request.tool_results else None

    article = await stage.start("zh")
    host.spoilt = report_hangs
    await killed(stage.work(article, host.models), pool, host, "research", "research:search")
    assert (models(), searches()) == (0, 0)
    host.spoilt = lambda request: None
    await stage.work(article, host.models)
    assert (models(), searches()) == (1, 1)
