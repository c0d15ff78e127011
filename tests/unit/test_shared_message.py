"""What a message in Slack holds that can be learnt, and the document that it is itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.shared_message import as_document, has_words, mentioned, read_message
from bot.slack_files import SharedFile
from knowledge.loaders import load

BOT = "U0BOT"


def message(text: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": text, "ts": "1796059410.000200", **more}


def links(text: str = "", **more: Any) -> tuple[str, ...]:
    return read_message(message(text, **more), channel_id="C1", bot_user_id=BOT).links


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see <https://a.test/x>", ("https://a.test/x",)),
        (
            "<https://a.test/x?a=1&amp;b=2|label>, <http://b.test>",
            ("https://a.test/x?a=1&b=2", "http://b.test"),
        ),
        ("<https://a.test/盐> と <https://a.test/ソルト>", ("https://a.test/盐", "https://a.test/ソルト")),
        ("<https://a.test> <https://a.test>", ("https://a.test",)),
        ("<@U1> <#C1|go> <!here> <mailto:a@b.test|a@b.test> <tel:+1>", ()),
        ("https://typed.test is no link until Slack makes one", ()),
        ("&lt;https://a.test&gt;", ()),
        ("<https://team.slack.com/archives/C1/p1> <https://slack.com/help>", ()),
        ("<https://notslack.com/a>", ("https://notslack.com/a",)),
        ("<https://[broken>", ("https://[broken",)),
    ],
)
def test_links_are_those_that_slack_has_made(text: str, found: tuple[str, ...]) -> None:
    assert links(text) == found


def test_links_of_blocks_count_however_deep_they_stand() -> None:
    deep = {"type": "rich_text_section", "elements": [{"type": "link", "url": "https://a.test/deep"}]}
    blocks = [
        {"type": "rich_text", "elements": [{"type": "rich_text_list", "elements": [deep]}]},
        {"type": "section", "text": {"type": "mrkdwn", "text": "x"}},
        {
            "type": "rich_text",
            "elements": [{"type": "link", "url": "javascript:alert(1)"}, "no element", None],
        },
    ]
    assert links("", blocks=blocks) == ("https://a.test/deep",)


def test_files_go_by_the_names_that_people_see() -> None:
    files = [
        {"id": "F1", "name": "笔记.md"},
        {"id": "F2", "title": "メモ"},
        {"id": "F3"},
        {"mode": "tombstone"},
    ]
    read = read_message(message(files=files), channel_id="C1", bot_user_id=BOT)
    assert read.files == (SharedFile("F1", "笔记.md"), SharedFile("F2", "メモ"), SharedFile("F3", "F3"))


def test_who_wrote_it_is_a_person_an_app_or_this_very_bot() -> None:
    person = read_message(message("x"), channel_id="C1", bot_user_id=BOT)
    assert (person.author, person.is_own) == ("U1", False)
    app = message("x", user="U9", bot_id="B9", bot_profile={"name": "GitHub"})
    other = read_message(app, channel_id="C1", bot_user_id=BOT)
    assert (other.author, other.name, other.is_own) == (None, "GitHub", False)
    assert read_message(message("x", user=BOT, bot_id="B1"), channel_id="C1", bot_user_id=BOT).is_own
    webhook = {
        "type": "message",
        "subtype": "bot_message",
        "text": "x",
        "ts": "1.2",
        "bot_id": "B2",
        "username": "CI",
    }
    assert read_message(webhook, channel_id="C1", bot_user_id=BOT).name == "CI"


def test_an_app_that_says_it_in_attachments_is_read_there() -> None:
    attachments = [{"title": "Build 7", "text": "failed"}, {"fallback": "see the log"}, {}]
    read = read_message(message(attachments=attachments), channel_id="C1", bot_user_id=BOT)
    assert read.text == "Build 7\nfailed\n\nsee the log"


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("*We use 19 MiB.*\nAsk <@U2>.", "We use 19 MiB.", "Ask @Bo."),
        ("\n> 我们使用 19 MiB。\n每次登录 40 毫秒。", "我们使用 19 MiB。", "每次登录 40 毫秒。"),
        ("# メモリは 19 MiB\nログインは 40 ms。", "メモリは 19 MiB", "ログインは 40 ms。"),
        ("```\nSELECT 1;\n```", "SELECT 1;", "```"),
        ('title: "quoted"\n---\n: yes', 'title: "quoted"', "---"),
        ("R&amp;D &lt;b&gt;", "R&D <b>", "R&D <b>"),
    ],
)
def test_a_message_is_a_document_with_its_author_and_day(text: str, title: str, body: str) -> None:
    read = read_message(message(text), channel_id="C1", bot_user_id=BOT)
    loaded = load("message.md", as_document(read, by="安娜", names={"U2": "Bo"}))
    assert loaded.title == title
    assert loaded.text.startswith("安娜 (2026-11-30):\n\n")
    assert body in loaded.text
    assert str(loaded.published) == "2026-11-30"


def test_people_who_are_named_are_found_once_each() -> None:
    assert mentioned("<@U1> and <@W2|bo>, <@U1> <!subteam^S1> &lt;@U9&gt;") == ["U1", "W2"]


@given(st.text())
def test_any_text_with_words_makes_a_document(text: str) -> None:
    read = read_message(message(text), channel_id="C1", bot_user_id=BOT)
    if has_words(read.text):
        loaded = load("message.md", as_document(read, by="Bo", names={}))
        assert loaded.title
        assert "\x00" not in loaded.text


@pytest.mark.parametrize("words", ["Salts are unique.", "盐是唯一的。", "ソルトは異なる。"])
def test_what_is_passed_on_without_a_word_is_its_authors(words: str) -> None:
    """Slack's "Share message": the words of the other message stand in an attachment."""
    passed_on = {"is_share": True, "is_msg_unfurl": True, "author_id": "U2", "text": words}
    read = read_message(message(attachments=[passed_on]), channel_id="C1", bot_user_id=BOT)
    assert (read.author, read.text, read.is_own) == ("U2", words, False)
    own = read_message(
        message(attachments=[{**passed_on, "author_id": BOT}]), channel_id="C1", bot_user_id=BOT
    )
    assert own.is_own


@pytest.mark.parametrize("text", ["&lt;#1|--&gt;", "&lt;mailto:盐|…&gt;"])
def test_what_looks_like_slacks_own_marks_is_a_document_too(text: str) -> None:
    assert has_words(text)
    read = read_message(message(text), channel_id="C1", bot_user_id=BOT)
    assert load("message.md", as_document(read, by="Ana", names={})).text
