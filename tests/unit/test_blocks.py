"""Messages as people see them in Slack, in three languages, and within its limits whatever stands in them."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.contracts import OutlineSection, ReviewIssue, ReviewResult, Source
from bot.blocks import (
    APPROVE,
    CANCEL,
    MESSAGE_CHARACTERS,
    REQUEST_CHANGES,
    REQUEST_FIELD,
    RETRY,
    START_ANYWAY,
    BadButton,
    ButtonValue,
    Drawn,
    Offer,
    draw,
    help_text,
    list_text,
    offer_anyway,
    read_offer,
    read_value,
    request_changes_errors,
    request_changes_view,
)
from bot.fitting import length, size
from bot.local_slack.limits import check_message, check_view
from bot.local_slack.plain_text import block_text, pings
from bot.messages import (
    Decided,
    DraftMessage,
    FileMessage,
    NoteMessage,
    OutlineMessage,
    Progress,
    SectionSummary,
    StatusMessage,
)
from bot.texts import TextError, say_plain
from knowledge.article import Action, Article, Mode, On, Status
from knowledge.language import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
each_language = pytest.mark.parametrize("language", LANGUAGES)

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
    drawn = draw(status(status=state, error="no"))
    offered = set(buttons(drawn.blocks))
    if state in (Status.PUBLISHING, Status.PUBLISHED, Status.CANCELLED):
        assert offered == set()
    else:
        assert offered == ({RETRY, CANCEL} if state is Status.FAILED else {CANCEL})
    for button in buttons(drawn.blocks).values():
        assert read_value(button["value"]) == ButtonValue(12, None, 0, "en")


def test_an_outline_is_laid_out_for_decision() -> None:
    assert seen(draw(outline())).splitlines() == [
        "# Outline 1",
        "1. What MD5 promises",
        "Speed · [S1] [S3]",
        "2. 成本",
        "内存与延迟 · ⚠ no source yet",
        "What I could not find: measured login latency",
        "Sources: [S1] Cheat Sheet (https://x.test/a) · [S3] 移行手順 (docs/m.md)",
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


# Whatever people, models and documents write.
HOSTILE = [
    *(
        "<!channel>",
        "<@U0EVIL>",
        "<!subteam^S0EVIL>",
        "@here",
        "&lt;!everyone&gt;",
        "https://evil.test",
        "`",
        "*",
    ),
    *(
        "[x](https://x.test)",
        "[S1]",
        "\u0000",
        "\u202e",
        "\u200b",
        "\ud83d",
        "👩\u200d👩\u200d👧",
        '"',
        "\\",
        "\n",
    ),
    *("很长的中文没有空格", "日本語の文。", "עברית", "word ", "a" * 50, "漢" * 50, "# ", "- ", "```"),
]
foreign = st.tuples(
    st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=8).map("".join),
    st.sampled_from([1, 1, 1, 20, 400]),
).map(lambda given: (given[0] * given[1])[:20_000])
languages = st.sampled_from(LANGUAGES)
counts = st.integers(0, 10**9)
ids = st.lists(st.integers(1, 10**6).map(lambda number: f"S{number}"), max_size=30)


def many(of: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Few different ones, up to 200 in all: what costs is their number, not their variety."""
    return st.tuples(st.lists(of, max_size=4), st.sampled_from([1, 1, 50])).map(
        lambda given: given[0] * given[1]
    )


statuses = st.builds(
    StatusMessage,
    article_id=st.integers(1, 2**31 - 1),
    language=languages,
    topic=foreign,
    requested_by=st.one_of(st.just("UANA"), foreign),
    status=st.sampled_from(Status),
    progress=st.builds(Progress, searches=counts, passages=counts, sections_done=counts, sections=counts),
    elapsed_seconds=st.integers(-5, 10**9),
    review_number=counts,
    max_reviews=counts,
    review_decision=st.sampled_from([None, "approve", "revise", "research"]),
    link=st.one_of(st.none(), foreign, st.just("https://x.test/" + "a" * 1900)),
    cost_usd=st.one_of(st.none(), st.floats(0, 10**6)),
    approved_by=st.one_of(st.none(), st.just("UBO"), foreign),
    error=st.one_of(st.none(), foreign),
)
decisions = st.one_of(
    st.none(),
    st.builds(
        Decided,
        action=st.sampled_from([Action.APPROVE, Action.REVISE, Action.RESEARCH, Action.CANCEL]),
        by=st.just("UBO"),
    ),
)
outlines = st.builds(
    OutlineMessage,
    language=languages,
    version=counts,
    sections=many(st.builds(OutlineSection, heading=foreign, description=foreign, source_ids=ids)),
    missing_evidence=many(foreign),
    sources=many(
        st.builds(
            Source,
            id=st.just("S1"),
            title=foreign,
            url=st.one_of(st.none(), foreign, st.just("https://x.test/" + "a" * 1900)),
            path=st.one_of(st.none(), foreign),
        )
    ),
    notes=many(foreign),
    asks=st.booleans(),
    decided=decisions,
)
drafts = st.builds(
    DraftMessage,
    language=languages,
    version=counts,
    title=foreign,
    description=foreign,
    words=counts,
    sections=many(st.builds(SectionSummary, heading=foreign, words=counts, source_ids=ids, added=counts)),
    changed_since=st.one_of(st.none(), counts),
    notes=many(foreign),
    review=st.builds(
        ReviewResult,
        score=st.one_of(st.none(), st.integers(0, 100)),
        issues=many(
            st.builds(
                ReviewIssue, description=foreign, suggested_fix=foreign, section=st.one_of(st.none(), foreign)
            )
        ),
        feedback=foreign,
    ),
    asks=st.booleans(),
    decided=decisions,
    stopped_by=st.one_of(st.none(), st.sampled_from(["max_reviews", "budget", "no_such_cap"])),
)
notes = st.builds(
    lambda language, key, text: note(key[0], language, **{**key[1], key[2]: text}),
    languages,
    st.sampled_from(
        [
            ("request_taken_draft", {"version": 1}, "text"),
            ("published_over", {"version": 1, "words": 1, "sources": 1, "by": "UBO", "link": ""}, "issues"),
            ("older_version", {"on": "outline", "seen": 1, "current": 2}, "link"),
            ("near_miss", {"word": "approve", "on": "draft", "version": 1}, "said"),
            ("cancelled", {}, "by"),
            ("failed", {}, "message"),
        ]
    ),
    foreign,
)
OURS = {"@UANA", "@UBO"}


@settings(max_examples=200, deadline=None)
@given(st.one_of(statuses, outlines, drafts, notes))
def test_any_message_is_one_that_slack_takes_and_pings_only_whom_we_mean(
    message: StatusMessage | OutlineMessage | DraftMessage | NoteMessage,
) -> None:
    drawn = draw(message)
    seen(drawn)
    assert len(drawn.blocks) <= 45
    assert size(drawn.blocks) <= MESSAGE_CHARACTERS
    assert length(drawn.text) < 4_000
    assert {*pings(drawn.blocks)} <= OURS
    assert not re.search(r"<(?!@UANA>|@UBO>|https://)", drawn.text)
    json.dumps(drawn.blocks, ensure_ascii=False).encode()


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


@each_language
@pytest.mark.parametrize("on", get_args(On))
def test_the_modal_asks_for_one_text_and_remembers_what_for(language: Language, on: On) -> None:
    view = check_view(request_changes_view(12, on, 10_000, language), "modal")
    assert view["callback_id"] == REQUEST_CHANGES
    assert read_value(view["private_metadata"]) == ButtonValue(12, on, 10_000, language)
    [field] = view["blocks"]
    assert field["block_id"] == field["element"]["action_id"] == REQUEST_FIELD
    assert request_changes_errors(view) == {REQUEST_FIELD: say_plain(language, "modal_empty")}


@given(
    st.integers(1, 2**31 - 1), st.sampled_from([None, "outline", "draft"]), st.integers(0, 10**8), languages
)
def test_a_buttons_value_comes_back_as_it_was(
    article_id: int, on: On | None, version: int, language: Language
) -> None:
    value = ButtonValue(article_id, on, version, language)
    assert read_value(str(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        *("", "12", "12:outline", "12:outline:1", "12:outline:1:fr", "x:outline:1:en", "12:review:1:en"),
        *(
            "0:outline:1:en",
            "-1:outline:1:en",
            "9999999999:outline:1:en",
            "12:outline:1:en\n",
            " 12:outline:1:en",
        ),
        *("１２:outline:1:en", "12:outline:99999999999:en", '{"id": 12}', "𝟙:draft:1:zh", "9" * 5000),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_with_what_to_do(value: str) -> None:
    with pytest.raises(BadButton, match="reply in words"):
        read_value(value)
    with pytest.raises(BadButton, match="reply in words"):
        read_offer(value)


@each_language
def test_an_article_can_be_started_anyway(language: Language) -> None:
    offer = Offer(
        topic=TOPIC[language] + ' "quoted" <!here>', language=language, mode=Mode.AUTO, id="command:1"
    )

    class Requested:
        topic, language, mode, claim = offer.topic, offer.language, str(Mode.AUTO), offer.id

    blocks = offer_anyway("*It is there.*", Requested())
    check_message("x", blocks)
    assert read_offer(buttons(blocks)[START_ANYWAY]["value"]) == offer


@each_language
def test_help_names_every_word(language: Language) -> None:
    text = help_text(language)
    for word in ("approve", "cancel", "retry", "status"):
        assert f"`{say_plain(language, f'word_{word}')}`" in text
    for command in ("status", "list", "cancel 12", "help"):
        assert f"/article {command}" in text


ARTICLE = Article(
    id=7,
    topic="Zero-downtime <!here> schema changes",
    language="en",
    mode=Mode.SUPERVISED,
    status=Status.AWAITING_OUTLINE,
    moves=3,
    heard=0,
    team_id="T1",
    channel_id="C1",
    thread_ts="1.2",
    permalink="https://x.test/p1",
    requested_by="UANA",
    outline_version=1,
    version=0,
    research=None,
    analysis=None,
    draft=None,
    review=None,
    review_count=0,
    research_rounds=0,
    approved_by=None,
    stopped_by=None,
    error=None,
    usage={},
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    updated_at=datetime(2026, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "#7 · <https://x.test/p1|{}> · its outline waits for a decision · for <@UANA>"),
        ("zh", "#7 · <https://x.test/p1|{}> · 大纲等待决定 · <@UANA> 提出"),
        ("ja", "#7 · <https://x.test/p1|{}> · 構成案の判断待ち · 依頼 <@UANA>"),
    ],
)
def test_the_list_has_a_line_for_each_article(language: Language, line: str) -> None:
    title = "Zero-downtime &lt;!\u2060here&gt; schema changes"
    assert list_text(language, [ARTICLE, ARTICLE]) == "\n".join([line.format(title)] * 2)


def test_an_article_without_a_thread_is_listed_without_a_link() -> None:
    assert "<http" not in list_text("en", [replace(ARTICLE, permalink=None)])


@each_language
def test_an_empty_list_says_how_to_start_one(language: Language) -> None:
    assert "/article" in list_text(language, [])


@each_language
def test_a_long_list_counts_what_it_leaves_out(language: Language) -> None:
    articles = [replace(ARTICLE, topic="很长的主题" * 60, id=number) for number in range(1, 101)]
    text = list_text(language, articles)
    *lines, last = text.splitlines()
    assert length(text) < 4_000
    assert last == say_plain(language, "list_more", count=100 - len(lines))
