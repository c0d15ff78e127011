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
from bot.fitting import length
from bot.local_slack.limits import check_message
from bot.local_slack.plain_text import block_text
from bot.messages import (
    InWork,
    Progress,
    StatusMessage,
)
from bot.status_line import PROGRESS_CHARACTERS
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


def line_of(language: Language, **changes: Any) -> str:
    """The line that says where the article stands."""
    return seen(draw(status(language, **changes))).splitlines()[2]


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
        (
            {"progress": Progress(searches=2, queries=("MD5 speed", "MD5 速度"))},
            "◔ Researching · 2 searches, no passage yet · last: “MD5 speed”, “MD5 速度” · 0:24",
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
            {
                "status": Status.WRITING,
                "progress": Progress(
                    sections_done=2,
                    sections=4,
                    writing=(
                        InWork(number=3, heading="Migrating"),
                        InWork(number=4, heading="What it costs"),
                    ),
                ),
            },
            "◑ Writing draft 1 · 2 of 4 sections · now §3 Migrating, §4 What it costs · 0:24",
        ),
        (
            {
                "status": Status.REVISING,
                "version": 1,
                "progress": Progress(sections=1, writing=(InWork(number=2, heading="`bcrypt` in **Go**"),)),
            },
            "◕ Revising, for draft 2 · 0 of 1 section · now §2 bcrypt in Go · 0:24",
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


SECTIONS: dict[Language, tuple[str, str]] = {
    "en": ("Migrating without a flag day", "What it costs"),
    "zh": ("不停机迁移", "代价"),
    "ja": ("停止せずに移行する", "費用"),
}


@pytest.mark.parametrize(
    ("language", "searching", "writing"),
    [
        (
            "en",
            "◔ Researching · 4 searches, 9 passages from 5 sources · last: “{0}”, “MD5” · 0:24  [Cancel]",
            "◑ Writing draft 1 · 1 of 3 sections · now §2 {0}, §3 {1} · 0:24  [Cancel]",
        ),
        (
            "zh",
            "◔ 正在检索 · 4 次搜索，5 个来源的 9 段 · 最近：“{0}”、“MD5” · 0:24  [取消]",
            "◑ 正在写草稿 1 · 已写 1/3 节 · 进行中：§2 {0}、§3 {1} · 0:24  [取消]",
        ),
        (
            "ja",
            "◔ 調査中 · 検索 4 回、5 件の資料から 9 箇所 · 直近：「{0}」「MD5」 · 0:24  [取消]",
            "◑ 原稿 1 を執筆中 · 3 節中 1 節完了 · 執筆中：§2 {0}、§3 {1} · 0:24  [取消]",
        ),
    ],
)
def test_what_is_searched_and_which_sections_are_written_is_said(
    language: Language, searching: str, writing: str
) -> None:
    first, second = SECTIONS[language]
    searched = Progress(searches=4, passages=9, sources=5, queries=(first, "MD5"))
    assert line_of(language, progress=searched) == searching.format(first)
    in_work = (InWork(number=2, heading=first), InWork(number=3, heading=second))
    written = Progress(sections_done=1, sections=3, writing=in_work)
    assert line_of(language, status=Status.WRITING, progress=written) == writing.format(first, second)


@pytest.mark.parametrize(
    ("queries", "shown"),
    [
        (("Argon2id " * 40,), "Argon2id " * 7 + "Argon2id…"),
        (("密码哈希" * 80, "MD5"), "密码哈希" * 19 + "密码哈…"),
        (("パスワード", "x" * 80, "MD5"), "パスワード"),
        (("", "\u200b", " \n　", "MD5"), "MD5"),
        (("two\nlines", "a\tb"), "two lines”, “a b"),
        (("<!channel> **now**", "[x](https://x.test)"), "<!\u2060channel> now”, “x"),
    ],
)
def test_queries_are_shown_short_and_on_one_line(queries: tuple[str, ...], shown: str) -> None:
    line = line_of("en", progress=Progress(searches=1, queries=queries))
    _, _, told = line.partition(" · last: “")
    said, _, _ = told.partition("” · 0:24")
    assert said == shown
    assert length(said.replace("\u2060", "")) <= PROGRESS_CHARACTERS


def test_queries_with_nothing_to_see_are_not_shown() -> None:
    assert "last" not in line_of("en", progress=Progress(searches=1, queries=("\u200b", "")))


@pytest.mark.parametrize("heading", ["A heading that takes half of the room there is", "长标题" * 15])
def test_sections_are_named_by_number_where_their_headings_have_no_room(heading: str) -> None:
    writing = tuple(InWork(number=number, heading=heading) for number in (1, 2, 4))
    line = line_of("en", status=Status.WRITING, progress=Progress(sections=4, writing=writing))
    assert line.startswith("◑ Writing draft 1 · 0 of 4 sections · now §1, §2, §4 · 0:24")


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
