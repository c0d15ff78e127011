"""Who may take a source out, and sources as Slack takes them, whatever they are called."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.blocks import draw
from bot.brief import questions_on, reading_first
from bot.decisions import Approvers, Person
from bot.fitting import length, size
from bot.local_slack.limits import check_blocks
from bot.messages import SourceMessage
from bot.people import language_of_locale, person_of
from bot.source_blocks import SourceValue, forget_question, list_of_sources, read_source_value
from bot.sources import why_not_forget
from knowledge.article import Status
from knowledge.language import LANGUAGES, Language
from knowledge.shared_sources import Unread
from knowledge.sources import Source
from tests.unit.situations import SITUATIONS

ARTICLE = SITUATIONS["at the draft"]  # UANA asked for it
ANA, BO = Person("UANA", True, frozenset()), Person("UBO", True, frozenset())
EDITOR = Person("UEDI", True, frozenset({"SEDIT"}))
GUEST = Person("UGUEST", False, frozenset({"SEDIT"}))
each_language = pytest.mark.parametrize("language", LANGUAGES)


def source(title: str = "Salts", *, added_by: str | None = None, article_id: int | None = None) -> Source:
    return Source(
        document_id=12,
        title=title,
        url="https://example.com/salts",
        path=None,
        origin="https://example.com/salts",
        kind="web",
        lang="en",
        collection="base",
        added_by=added_by,
        added_from="https://local.slack.com/archives/C1/p1",
        added_at=datetime(2026, 11, 30, tzinfo=UTC),
        article_id=article_id,
    )


@pytest.mark.parametrize(
    ("approvers", "person", "added_by", "of_article", "refusal"),
    [
        ("anyone", BO, "UANA", False, None),
        ("anyone", BO, None, False, None),
        ("anyone", GUEST, "UGUEST", False, "not_full_member"),
        ("requester", BO, "UBO", False, None),
        ("requester", BO, "UANA", False, "not_remover"),
        ("requester", BO, None, False, "not_remover"),
        ("requester", ANA, "UBO", True, None),
        ("requester", ANA, "UBO", False, "not_remover"),
        (frozenset({"SEDIT"}), EDITOR, None, False, None),
        (frozenset({"SEDIT"}), GUEST, None, True, "not_full_member"),
        (frozenset({"UEDI"}), BO, "UBO", True, None),
        (frozenset({"UEDI"}), BO, "UANA", True, "not_remover"),
        (frozenset(), ANA, "UBO", False, "not_remover"),
    ],
)
def test_who_may_cancel_or_has_added_it_may_remove_a_source(
    approvers: Approvers, person: Person, added_by: str | None, of_article: bool, refusal: str | None
) -> None:
    article = ARTICLE if of_article else None
    given_source = source(added_by=added_by, article_id=ARTICLE.id if of_article else None)
    assert why_not_forget(person, given_source, article, approvers) == refusal


@pytest.mark.parametrize("value", ["", "12", "0:en", "12:fr", "9999999999:en", "x:en", "12:en ", "-1:ja"])
def test_a_button_of_another_release_is_not_understood(value: str) -> None:
    assert read_source_value(value) is None


@given(st.integers(1, 2**31 - 1), st.sampled_from(LANGUAGES))
def test_a_button_says_which_source_it_is_of(document_id: int, language: Language) -> None:
    value = SourceValue(document_id, language)
    assert read_source_value(str(value)) == value


TITLES = st.one_of(
    st.text(max_size=400), st.sampled_from(["<!channel>", "a|b>", "密" * 300, "ソ" * 300, "*_~`", "\u200b"])
)


@given(
    TITLES, st.sampled_from(LANGUAGES), st.sampled_from(["own", "base", "removed"]), st.none() | st.just("U1")
)
def test_slack_takes_a_note_on_any_file(title: str, language: Language, state: str, by: str | None) -> None:
    message = SourceMessage.model_validate(
        {
            **{
                "article_id": 1,
                "language": language,
                "document_id": 12,
                "title": title,
                "link": "https://x.test",
            },
            **{"shared_by": "U1", "state": state, "by": by},
        }
    )
    drawn = draw(message)
    check_blocks(drawn.blocks)
    assert "<!channel>" not in drawn.text


@given(st.lists(TITLES, max_size=40), st.sampled_from(LANGUAGES), st.booleans())
def test_slack_takes_a_list_of_any_sources(titles: list[str], language: Language, more: bool) -> None:
    text, blocks = list_of_sources(language, "Sources", [(source(t), "[S1]") for t in titles], more=more)
    check_blocks(blocks)
    assert size(blocks) < 13_000
    assert length(text) < 4_000
    shown = sum("accessory" in block for block in blocks)
    assert shown == len(titles) or (shown >= 8 and len(blocks) == shown + 2)
    assert "<!channel>" not in text


@given(TITLES, st.sampled_from(LANGUAGES))
def test_slack_takes_the_question_before_a_removal(title: str, language: Language) -> None:
    _, blocks = forget_question(language, source(title))
    check_blocks(blocks)


@pytest.mark.parametrize("to", Status)
def test_what_was_shared_is_read_before_the_text_is_changed_and_never_otherwise(to: Status) -> None:
    unread = [Unread(12, "notes.md")]
    changes = to in (Status.OUTLINING, Status.REVISING)
    assert reading_first(to, unread) is (Status.RESEARCHING if changes else to)
    assert reading_first(to, []) is to


def test_what_was_shared_is_asked_about_by_its_title() -> None:
    [question] = questions_on(ARTICLE, [Unread(12, "备注 <notes>")])
    assert "备注 <notes>" in question


@pytest.mark.parametrize(
    ("locale", "language"),
    [("en-GB", "en"), ("zh-CN", "zh"), ("zh-TW", "zh"), ("ja-JP", "ja"), ("fr-FR", "en"), ("", "en")],
)
def test_people_are_answered_in_the_language_that_they_have_set(locale: str, language: Language) -> None:
    assert language_of_locale(locale) == language
    person = person_of({"id": "U1", "locale": locale}, groups=frozenset(), team_id="T1")
    assert (person.language, person.full_member) == (language, True)
