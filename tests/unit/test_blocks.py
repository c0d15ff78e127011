"""Messages as people see them in Slack, in three languages, and within its limits whatever stands in them."""

from typing import Any, get_args

import pytest

from agents.contracts import OutlineSection, ReviewIssue, ReviewResult, Source
from bot.blocks import (
    APPROVE,
    CANCEL,
    REQUEST_CHANGES,
    ButtonValue,
    Drawn,
    draw,
    read_value,
)
from bot.local_slack.limits import check_message
from bot.local_slack.plain_text import block_text
from bot.messages import (
    Decided,
    DraftMessage,
    FileMessage,
    NoteMessage,
    OutlineMessage,
    SectionSummary,
)
from bot.texts import TextError, say_plain
from knowledge.article import Action, On
from knowledge.language import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
each_language = pytest.mark.parametrize("language", LANGUAGES)


def outline(language: Language = "en", **changes: Any) -> OutlineMessage:
    message = OutlineMessage(
        article_id=12,
        language=language,
        version=1,
        sections=[
            OutlineSection(heading="What MD5 promises", description="Speed", source_ids=["S1", "S3"]),
            OutlineSection(heading="成本", description="内存与延迟", source_ids=[]),
        ],
        missing_evidence=["measured login latency"],
        sources=[
            Source(
                id="S1", title="Cheat Sheet", url="https://x.test/a", path=None, document_id=1, verified=True
            ),
            Source(id="S3", title="移行手順", url=None, path="docs/m.md", document_id=2, verified=True),
        ],
        notes=["Done: section 4 dropped."],
        asks=True,
        decided=None,
    )
    return message.model_copy(update=changes)


def issue(severity: Any, description: str, section: str | None = None) -> ReviewIssue:
    return ReviewIssue(severity=severity, description=description, suggested_fix="Say MiB.", section=section)


def draft(language: Language = "en", **changes: Any) -> DraftMessage:
    message = DraftMessage(
        article_id=12,
        language=language,
        version=2,
        title="From MD5 to Argon2id",
        description="Why that **fails**.",
        words=1180,
        sections=[
            SectionSummary(heading="One", words=240, source_ids=["S1", "S3"], added=62, removed=18),
            SectionSummary(heading="二", words=390, source_ids=["S2"]),
        ],
        changed_since=1,
        notes=[],
        review=ReviewResult(
            decision="revise",
            score=71,
            issues=[
                issue("low", "Title"),
                issue("high", "No unit", "二"),
                issue("medium", "One source", "One"),
            ],
            feedback="Solid.\n\n- one\n- two",
        ),
        asks=True,
        decided=None,
        stopped_by=None,
    )
    return message.model_copy(update=changes)


def note(key: str, language: Language = "en", **params: str | int) -> NoteMessage:
    return NoteMessage(article_id=12, language=language, key=key, params=params, to=None)


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


def test_an_outline_is_laid_out_for_decision() -> None:
    assert seen(draw(outline())).splitlines() == [
        "# Outline 1",
        "1. What MD5 promises",
        "Speed · [S1] [S3]",
        "2. 成本",
        "内存与延迟 · ⚠ no source yet",
        "What I could not find: measured login latency",
        "Sources: [S1] Cheat Sheet (https://x.test/a) · [S3] 移行手順 (m.md)",
        "Notes: Done: section 4 dropped.",
        "Reply `approve`, `revise: what to change`, `revise 2: …` for one section, "
        "or `research: a question`.",
        "[Approve outline 1] [Request changes…] [Cancel]",
    ]


def test_a_draft_and_its_review_are_one_message() -> None:
    assert seen(draw(draft(stopped_by="max_reviews"))).splitlines() == [
        "# Draft 2 · 1,180 words · 6 min",
        "From MD5 to Argon2id",
        "Why that fails.",
        "1. One · 240 words · [S1] [S3]",
        "2. 二 · 390 words · [S2]",
        "Changed since draft 1: section 1 (+62 −18 words); the others are the same.",
        "⚠ The reviewer still asks for changes and its reviews are used up (max_reviews_reached). "
        "Your word decides.",
        "# Review: revise · 71/100",
        "🔴 §2 No unit → Say MiB.",
        "🟠 §1 One source → Say MiB.",
        "⚪ Title → Say MiB.",
        "> Solid.",
        "> • one",
        "> • two",
        "Reply `revise` to apply the review, `revise: …` in your words, `revise 2: …` for one section, "
        "`research: …`, or `approve` to publish draft 2 as it is.",
        "[Approve draft 2] [Apply the review] [Request changes…] [Cancel]",
    ]


@pytest.mark.parametrize(
    ("language", "header", "review", "ask"),
    [
        ("zh", "# 草稿 2 · 1,180 字 · 约 3 分钟", "# 审稿：需修改 · 71/100", "[通过草稿 2] [按审稿意见修改]"),
        (
            "ja",
            "# 原稿 2 · 1,180 字 · 約 2 分",
            "# レビュー：要修正 · 71/100",
            "[原稿 2 を承認] [レビューを反映]",
        ),
    ],
)
def test_a_draft_speaks_the_language_of_the_article(
    language: Language, header: str, review: str, ask: str
) -> None:
    lines = seen(draw(draft(language))).splitlines()
    assert lines[0] == header
    assert review in lines
    assert lines[-1].startswith(ask)


def test_a_first_draft_without_issues_has_nothing_to_apply() -> None:
    review = ReviewResult(decision="approve", score=None, issues=[], feedback="")
    drawn = draw(draft(review=review, changed_since=None))
    text = seen(drawn)
    assert set(buttons(drawn.blocks)) == {APPROVE, REQUEST_CHANGES, CANCEL}
    assert "# Review: approve\nReply `approve`" in text
    assert "Changed since" not in text


@pytest.mark.parametrize("message", [outline(), draft()])
def test_buttons_name_the_article_and_the_version_they_were_shown_for(
    message: OutlineMessage | DraftMessage,
) -> None:
    on: On = "outline" if isinstance(message, OutlineMessage) else "draft"
    for button in buttons(draw(message).blocks).values():
        assert read_value(button["value"]) == ButtonValue(12, on, message.version, "en")


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (Action.APPROVE, ("Approved by <@UBO>", "<@UBO> 已通过", "<@UBO> さんが承認しました")),
        (
            Action.REVISE,
            ("Changes asked for by <@UBO>", "<@UBO> 要求修改", "<@UBO> さんが修正を依頼しました"),
        ),
        (
            Action.RESEARCH,
            (
                "More research asked for by <@UBO>",
                "<@UBO> 要求补充资料",
                "<@UBO> さんが追加調査を依頼しました",
            ),
        ),
        (Action.CANCEL, ("Cancelled by <@UBO>", "<@UBO> 已取消", "<@UBO> さんが取り消しました")),
    ],
)
def test_who_decided_takes_the_place_of_the_buttons(action: Action, said: tuple[str, str, str]) -> None:
    for language, words in zip(LANGUAGES, said, strict=True):
        for message in (outline(language), draft(language)):
            decided = message.model_copy(update={"decided": Decided(action=action, by="UBO"), "asks": False})
            drawn = draw(decided)
            assert seen(drawn).splitlines()[-1] == words
            assert buttons(drawn.blocks) == {}


@each_language
def test_in_auto_mode_nobody_is_asked(language: Language) -> None:
    for message in (outline(language, asks=False), draft(language, asks=False)):
        drawn = draw(message)
        assert buttons(drawn.blocks) == {}
        assert say_plain(language, f"hint_{message.kind}_auto") in seen(drawn).replace("`", "")


@pytest.mark.parametrize(
    ("sections", "line"),
    [
        ([(0, 0), (0, 0)], "The text is the same as in draft 1."),
        ([(3, 0), (0, 1)], "Changed since draft 1: section 1 (+3 −0 words), section 2 (+0 −1 words)."),
    ],
)
def test_a_draft_says_what_changed(sections: list[tuple[int, int]], line: str) -> None:
    summaries = [
        SectionSummary(heading="h", words=1, source_ids=[], added=added, removed=removed)
        for added, removed in sections
    ]
    assert line in seen(draw(draft(sections=summaries))).splitlines()


def test_a_note_is_words_links_and_mentions() -> None:
    drawn = draw(note("published", version=1, words=1240, sources=6, by="UBO", link="https://x.test/f"))
    assert seen(drawn) == (
        "Draft 1 is published: 1,240 words, 6 sources, approved by <@UBO> → the file (https://x.test/f)"
    )
    with pytest.raises(TextError):
        draw(note("no_such_note"))


def test_a_file_is_told_by_its_title() -> None:
    file = FileMessage(article_id=1, language="zh", version=3, filename="a.md", title="标题", content="…")
    assert draw(file) == Drawn("草稿 3：标题", [])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("count", [40, 200])
def test_what_has_no_room_is_counted_not_hidden(language: Language, count: int) -> None:
    text = {"en": "A long sentence about it. ", "zh": "这是一句很长的话。", "ja": "これはとても長い文です。"}[
        language
    ] * 40
    review = ReviewResult(
        decision="revise",
        score=1,
        issues=[*[issue("low", text)] * (count - 1), issue("high", "The worst")],
        feedback=text,
    )
    lines = seen(draw(draft(language, review=review))).splitlines()
    shown = [line for line in lines if line.startswith(("🔴", "⚪"))]
    assert shown[0].startswith("🔴 The worst")
    assert 0 < len(shown) < count
    assert say_plain(language, "more", count=count - len(shown)) in lines


def test_a_long_part_does_not_crowd_out_the_others() -> None:
    sections = [
        OutlineSection(heading=f"Heading {n}", description="很长" * 5_000, source_ids=["S1"])
        for n in range(8)
    ]
    drawn = draw(outline(sections=sections))
    text = seen(drawn)
    assert [f"Heading {n}" in text for n in range(8)] == [True] * 8
    assert text.count("… · [S1]") == 8
    assert "measured login latency" in text
    assert APPROVE in buttons(drawn.blocks)
