"""The one message of an article in its channel: where it stands, and what may be done."""

import re
from typing import Any

import pytest

from bot.blocks import (
    CANCEL,
    RETRY,
    ButtonValue,
    Drawn,
    draw,
    read_value,
)
from bot.local_slack.limits import check_message
from bot.local_slack.plain_text import block_text
from bot.messages import (
    Progress,
    StatusMessage,
)
from knowledge.article import Mode, Status
from knowledge.language import Language

TOPIC: dict[Language, str] = {
    "en": "Why should Go backends move from MD5 to Argon2id?",
    "zh": "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    "ja": "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか",
}


def status(language: Language = "en", **changes: Any) -> StatusMessage:
    message = StatusMessage(
        article_id=12,
        language=language,
        topic=TOPIC[language],
        requested_by="UANA",
        mode=Mode.SUPERVISED,
        status=Status.RESEARCHING,
        moves=1,
        outline_version=0,
        version=0,
        progress=Progress(),
        elapsed_seconds=24,
        review_number=0,
        max_reviews=3,
        review_decision=None,
        review_score=None,
        link_to=None,
        words=0,
        sources=0,
        tokens=0,
        cost_usd=None,
        approved_by=None,
        error=None,
    )
    return message.model_copy(update=changes)


def seen(drawn: Drawn) -> str:
    """What people read, once Slack would take it."""
    check_message(drawn.text, drawn.blocks, longest_text=3_999)
    assert drawn.text.strip()
    return "\n".join(map(block_text, drawn.blocks))


def buttons(blocks: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    elements = [
        element
        for block in blocks
        for element in [
            *(block["elements"] if block["type"] == "actions" else []),
            block.get("accessory", {}),
        ]
    ]
    return {element["action_id"]: element for element in elements if element}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "◔ Researching · 0:24"),
        ({"elapsed_seconds": 0}, "◔ Researching"),
        (
            {"progress": Progress(searches=4, passages=9, sources=5)},
            "◔ Researching · 4 searches, 9 passages from 5 sources · 0:24",
        ),
        ({"status": Status.OUTLINING, "outline_version": 1}, "◔ Preparing outline 2 · 0:24"),
        (
            {"status": Status.OUTLINING, "outline_version": 1, "version": 1},
            "◔ Weighing the new evidence · 0:24",
        ),
        (
            {"status": Status.AWAITING_OUTLINE, "outline_version": 1, "link": "https://x.test/1"},
            "◑ Outline 1 waits for a decision → read and decide (https://x.test/1)",
        ),
        (
            {
                "status": Status.WRITING,
                "progress": Progress(sections_done=2, sections=4),
                "elapsed_seconds": 70,
            },
            "◑ Writing draft 1 · 2 of 4 sections · 1:10",
        ),
        (
            {"status": Status.REVIEWING, "elapsed_seconds": 3723},
            "◕ Reviewing draft 1 · review 1 of 3 · 1:02:03",
        ),
        ({"status": Status.REVIEWING, "review_number": 3}, "◕ Reviewing draft 1 · review 4 · 0:24"),
        ({"status": Status.REVISING, "version": 1}, "◕ Revising, for draft 2 · 0:24"),
        (
            {
                "status": Status.AWAITING_APPROVAL,
                "version": 2,
                "review_number": 2,
                "review_decision": "approve",
                "review_score": 88,
            },
            "◕ Draft 2 waits for a decision · review 2 of 3: approve, 88/100",
        ),
        ({"status": Status.PUBLISHING, "version": 2}, "◕ Publishing draft 2"),
        (
            {
                "status": Status.PUBLISHED,
                "version": 2,
                "words": 1240,
                "sources": 6,
                "tokens": 21_040,
                "cost_usd": 0.04,
                "approved_by": "UBO",
                "link": "https://x.test/f",
            },
            "● Published · 1,240 words · 6 sources · 2 drafts · 21k tokens, $0.04 · approved by <@UBO>"
            " → the file (https://x.test/f)",
        ),
        (
            {"status": Status.PUBLISHED, "version": 1, "words": 1, "sources": 1, "tokens": 840},
            "● Published · 1 word · 1 source · 1 draft · 840 tokens",
        ),
        ({"status": Status.CANCELLED}, "✕ Cancelled. What was made so far is kept."),
        (
            {"status": Status.FAILED, "error": "The host is away <!here>."},
            "✕ Stopped: The host is away <!\u2060here>.",
        ),
    ],
)
def test_the_status_message_says_where_the_article_stands(changes: dict[str, Any], line: str) -> None:
    topic, about, state, *_ = seen(draw(status(**changes))).splitlines()
    assert (topic, about) == (TOPIC["en"], "#12 · for <@UANA> · English · supervised")
    assert re.sub(r"  \[Cancel\]$", "", state) == line


@pytest.mark.parametrize(
    ("language", "about", "line"),
    [
        (
            "zh",
            "#12 · <@UANA> 提出 · 中文 · 由人审定",
            "◔ 正在检索 · 4 次搜索，5 个来源的 9 段 · 0:24  [取消]",
        ),
        (
            "ja",
            "#12 · 依頼 <@UANA> · 日本語 · 人が判断",
            "◔ 調査中 · 検索 4 回、5 件の資料から 9 箇所 · 0:24  [取消]",
        ),
    ],
)
def test_the_status_message_speaks_the_language_of_the_article(
    language: Language, about: str, line: str
) -> None:
    progress = Progress(searches=4, passages=9, sources=5)
    assert seen(draw(status(language, progress=progress))).splitlines() == [TOPIC[language], about, line]


@pytest.mark.parametrize("state", Status)
def test_the_status_message_offers_what_may_be_done(state: Status) -> None:
    drawn = draw(status(status=state, error="no" if state is Status.FAILED else None))
    offered = set(buttons(drawn.blocks))
    if state in (Status.PUBLISHING, Status.PUBLISHED, Status.CANCELLED):
        assert offered == set()
    else:
        assert offered == ({RETRY, CANCEL} if state is Status.FAILED else {CANCEL})
    for button in buttons(drawn.blocks).values():
        assert read_value(button["value"]) == ButtonValue(12, None, 0, "en")


def test_a_draft_that_the_budget_stopped_can_be_taken_up_again() -> None:
    drawn = draw(status(status=Status.AWAITING_APPROVAL, error="予算を使い切りました。"))
    assert set(buttons(drawn.blocks)) == {RETRY, CANCEL}
