"""A thread takes a topic to a published article: the path that the README describes."""

import json
import re
from typing import Any

import pytest
import yaml

from agents.citations import cited_ids
from agents.contracts import ResearchResult
from bot.cli import article_json, print_json
from bot.local_slack.plain_text import notifies, plain_text
from bot.local_slack.workspace import Message
from knowledge.article import Article, Status
from tests.e2e.desk import PATIENCE, TOPICS, Desk

WORDS = {
    "en": {
        "outline": "Approve outline",
        "draft": "Approve draft",
        "revise": "revise: move section {last} to the front",
        "approve": "approve",
        "published": "is published",
    },
    "zh": {
        "outline": "通过大纲",
        "draft": "通过草稿",
        "revise": "修改：把第{last}节移到最前面",
        "approve": "通过",
        "published": "已发布",
    },
    "ja": {
        "outline": "構成案",
        "draft": "原稿",
        "revise": "修正：第{last}節を先頭に移動",
        "approve": "承認",
        "published": "公開しました",
    },
}


def button(language: str, on: str, version: int) -> str:
    return f"{on} {version} を承認" if language == "ja" else f"{on} {version}"


def headings(outline: Message) -> list[str]:
    return re.findall(r"^\d+\. (.+)$", plain_text(outline), re.M)


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
async def test_a_topic_becomes_a_published_article_that_people_approved(desk: Desk, language: str) -> None:
    await desk.start()
    words = WORDS[language]
    parent = await desk.request(TOPICS[language])
    outline = await desk.asked(parent, button(language, words["outline"], 1))
    planned = headings(outline)
    assert len(planned) >= 3

    await desk.bo.say(desk.channel, words["revise"].format(last=len(planned)), thread_ts=parent.ts)
    second = await desk.asked(parent, button(language, words["outline"], 2))
    assert headings(second) == [planned[-1], *planned[:-1]]
    # Edits come after what is new: the buttons of outline 1 go once outline 2 is there.
    await desk.slack.wait_for(
        lambda: "[" not in plain_text(desk.slack.current(outline) or outline).splitlines()[-1], PATIENCE
    )

    await desk.ana.say(desk.channel, words["approve"], thread_ts=parent.ts)
    draft = await desk.asked(parent, button(language, words["draft"], 1))
    [file] = desk.slack.files
    assert desk.thread(parent).index(draft) > min(
        desk.thread(parent).index(message) for message in desk.thread(parent) if message.files
    )

    await desk.ana.say(desk.channel, words["approve"], thread_ts=parent.ts)
    await desk.said(parent, words["published"])
    article = await desk.article(parent, Status.PUBLISHED)
    await desk.slack.wait_for(lambda: desk.status(parent).count("●"), PATIENCE)
    assert article.approved_by == desk.ana.id
    assert file.content is not None
    check_article(file.content.decode(), article)
    check_json(await article_json(desk.knowledge, article))
    assert not [
        ping for message in desk.bots(parent) for ping in notifies(message) if not ping.startswith("@U")
    ]


def check_article(markdown: str, article: Article) -> None:
    """At least 3 sections, 2 sources, and every sentence that is cited stands in its source."""
    _, head, body = markdown.split("---\n", 2)
    front = yaml.safe_load(head)
    assert set(front) == {"title", "description", "tags", "categories", "date", "sources"}
    assert len({source["id"] for source in front["sources"]}) >= 2
    research = ResearchResult.model_validate(article.research)
    assert article.draft is not None
    sections = article.draft["sections"]
    assert len(sections) >= 3
    for section in sections:
        assert f"## {section['heading']}" in body
    cited = 0
    for section in sections:
        for paragraph in section["content"].split("\n\n"):
            for sentence, citation in re.findall(r"(.+?)\s*(\[S\d+(?:, S\d+)*\])", paragraph, re.S):
                cited += 1
                wanted = folded(sentence.strip('> \n"“”「」').removeprefix("- "))
                texts = [
                    folded(passage.text)
                    for passage in research.passages
                    if passage.source_id in cited_ids(citation)
                ]
                assert any(wanted in text for text in texts), sentence
    assert cited >= 5


def folded(text: str) -> str:
    return re.sub(r"\s+", "", text).strip("。.")


def check_json(value: dict[str, Any]) -> None:
    """The shape that other programs rely on."""
    assert set(value) >= {
        *("id", "topic", "status", "channel", "thread_ts", "permalink", "outline_version", "version", "mode"),
        *("requested_by", "created_at", "updated_at", "research", "analysis", "draft", "reviews"),
        *("decisions", "approved_by", "stopped_by", "error", "review_count", "research_rounds", "usage"),
        *("versions", "history"),
    }
    assert [(one["on"], one["action"], one["version"]) for one in value["decisions"]] == [
        ("outline", "revise", 1),
        ("outline", "approve", 2),
        ("draft", "approve", 1),
    ]
    assert value["decisions"][0]["state"] == "done"
    assert value["decisions"][0]["outcome"]
    assert [one["number"] for one in value["versions"]] == [1]
    [review] = value["reviews"]
    assert review["version"] == 1
    assert review["decision"] in ("approve", "revise", "research")
    assert [move["to"] for move in value["history"]] == [
        *("researching", "outlining", "awaiting_outline", "outlining", "awaiting_outline"),
        *("writing", "reviewing", "awaiting_approval", "publishing", "published"),
    ]
    assert set(value["usage"]) >= {"requests", "input_tokens", "output_tokens", "cost_usd"}


async def test_json_is_printed_with_times_in_utc(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    await desk.start(worker=False)
    article = await desk.article(await desk.request(TOPICS["zh"]))
    print_json(await article_json(desk.knowledge, article))
    printed = capsys.readouterr().out
    assert TOPICS["zh"] in printed
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", json.loads(printed)["created_at"])
