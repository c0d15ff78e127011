"""What buttons carry, the modal they open, and the answers to `/article`."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.blocks import (
    REQUEST_CHANGES,
    REQUEST_FIELD,
    START_ANYWAY,
    BadButton,
    ButtonValue,
    Offer,
    help_text,
    list_text,
    offer_anyway,
    read_offer,
    read_value,
    request_changes_errors,
    request_changes_view,
)
from bot.fitting import length
from bot.local_slack.limits import check_message, check_view
from bot.texts import say_plain
from knowledge.article import Article, Mode, On, Status
from knowledge.language import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
each_language = pytest.mark.parametrize("language", LANGUAGES)
languages = st.sampled_from(LANGUAGES)

TOPIC: dict[Language, str] = {
    "en": "Why should Go backends move from MD5 to Argon2id?",
    "zh": "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    "ja": "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか",
}


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
