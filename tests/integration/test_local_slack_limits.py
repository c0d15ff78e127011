"""The bounds of Block Kit, messages and views, each with an input that just fits and one that does not."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.local_slack.limits import Refusal, check_blocks, check_message, check_view
from bot.local_slack.plain_text import notifies, plain_text
from bot.local_slack.workspace import Message

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def section(text: str = "x", **more: Any) -> Json:
    return {"type": "section", "text": mrkdwn(text), **more}


def header(text: str) -> Json:
    return {"type": "header", "text": plain(text)}


def button(text: str = "Go", **more: Any) -> Json:
    return {"type": "button", "text": plain(text), **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def rich(*elements: Json) -> Json:
    return {"type": "rich_text", "elements": list(elements)}


def sentence(*inline: Json) -> Json:
    return {"type": "rich_text_section", "elements": list(inline)}


def word(text: str = "x", **more: Any) -> Json:
    return {"type": "text", "text": text, **more}


def listed(style: str = "bullet", **more: Any) -> Json:
    return {"type": "rich_text_list", "style": style, "elements": [sentence(word())], **more}


def table(rows: int, columns: int, text: str = "x") -> Json:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": text}] * columns for _ in range(rows)]}


def picture(**more: Any) -> Json:
    return {"type": "image", "alt_text": "a hash", "image_url": "https://example.com/a.png", **more}


def options(count: int) -> list[Json]:
    return [{"text": plain(f"option {i}"), "value": f"v{i}"} for i in range(count)]


def menu(count: int, **more: Any) -> Json:
    return {"type": "static_select", "options": options(count), **more}


FITS: list[tuple[str, list[Json]]] = [
    ("no blocks", []),
    ("50 blocks", [{"type": "divider"}] * 50),
    ("a section of 3,000", [section("审" * 3000)]),
    ("10 fields of 1,000", [{"type": "section", "fields": [mrkdwn("x" * 1000)] * 10}]),
    ("a header of 150", [header("見" * 150)]),
    ("10 elements of context", [{"type": "context", "elements": [mrkdwn("x")] * 10}]),
    ("25 buttons", [actions(*[button(action_id=f"a{i}") for i in range(25)])]),
    ("a button of 75, value 2,000", [actions(button("x" * 75, value="v" * 2000, action_id="a" * 255))]),
    ("the same action_id in two blocks", [actions(button(action_id="a")), actions(button(action_id="a"))]),
    ("an accessory", [section(accessory=button(style="danger"))]),
    ("a table of 100 rows", [table(100, 3)]),
    ("a table of 20 columns", [table(15, 20)]),
    ("an image", [picture(title=plain("a title"))]),
    ("a markdown block", [{"type": "markdown", "text": "**粗体**" * 1000}]),
    ("rich text of every kind", [
        rich(
            sentence(
                word("太字", style={"bold": True}),
                {"type": "link", "url": "https://example.com/", "text": "S1"},
                {"type": "user", "user_id": "U1"},
                {"type": "emoji", "name": "eyes"},
            ),
            listed("ordered", indent=8, offset=3),
            {"type": "rich_text_preformatted", "elements": [word("a\nb")], "border": 0},
            {"type": "rich_text_quote", "elements": [word("quoted")]},
        )
    ]),
    ("a menu of 100", [actions(menu(100, placeholder=plain("choose")))]),
    ("an overflow of 5", [section(accessory={"type": "overflow", "options": options(5)})]),
    ("a confirmation", [actions(button(confirm={
        "title": plain("Sure?"), "text": plain("It ends here."), "confirm": plain("Yes"), "deny": plain("No"),
    }))]),
]  # fmt: skip

HOSTILE: list[tuple[str, list[Any], str]] = [
    ("51 blocks", [{"type": "divider"}] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
    ("no type", [{"text": plain("x")}], "missing required field: type [json-pointer:/blocks/0]"),
    ("an unknown block", [{"type": "sections"}], "unsupported type: sections [json-pointer:/blocks/0]"),
    ("a type that is no text", [{"type": ["section"]}], "unsupported type: ['section']"),
    ("a file block", [{"type": "file", "external_id": "x", "source": "remote"}], "unsupported type: file"),
    ("an unknown key", [section(color="red")], "invalid additional property: color [json-pointer:/blocks/0]"),
    ("an empty section", [{"type": "section"}], "must define either `fields` or `text`"),
    ("an empty text", [section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
    ("a section of 3,001", [section("审" * 3001)], "must be less than 3001 characters"),
    ("a text that is a number", [{"type": "header", "text": {**plain("x"), "text": 7}}], "provide a string"),
    ("a text that is a string", [{"type": "section", "text": "x"}], "must provide an object"),
    ("11 fields", [{"type": "section", "fields": [mrkdwn("x")] * 11}], "no more than 10 items"),
    ("a field of 2,001", [{"type": "section", "fields": [mrkdwn("x" * 2001)]}], "less than 2001"),
    ("a header in mrkdwn", [{"type": "header", "text": mrkdwn("*x*")}], "unsupported type: mrkdwn"),
    ("a header of 151", [header("見" * 151)], "less than 151 characters [json-pointer:/blocks/0/text/text]"),
    ("emoji in mrkdwn", [{"type": "section", "text": {**mrkdwn("x"), "emoji": True}}], "property: emoji"),
    ("an empty context", [{"type": "context", "elements": []}], "no fewer than 1 items"),
    ("11 elements of context", [{"type": "context", "elements": [mrkdwn("x")] * 11}], "no more than 10"),
    ("a button in context", [{"type": "context", "elements": [button()]}], "unsupported type: button"),
    ("26 buttons", [actions(*[button(action_id=f"a{i}") for i in range(26)])], "no more than 25 items"),
    ("no buttons", [actions()], "no fewer than 1 items"),
    ("a button of 76", [actions(button("x" * 76))], "less than 76 characters"),
    ("a button in mrkdwn", [actions({"type": "button", "text": mrkdwn("x")})], "unsupported type: mrkdwn"),
    ("a value of 2,001", [actions(button(value="v" * 2001))], "less than 2001 characters"),
    ("a value that is a number", [actions(button(value=12))], "must provide a string"),
    ("an action_id of 256", [actions(button(action_id="a" * 256))], "less than 256 characters"),
    ("a style that is not", [actions(button(style="default"))], "must be one of: primary, danger"),
    ("a button that runs code", [actions(button(url="javascript:alert(1)"))], "invalid URL"),
    ("an action_id twice", [actions(button(action_id="a"), button(action_id="a"))], "a already exists"),
    ("a block_id of 256", [section(block_id="b" * 256)], "less than 256 characters"),
    ("a block_id twice", [section(block_id="b"), section(block_id="b")], "block_id b already exists"),
    ("a menu of 101", [actions(menu(101))], "no more than 100 items"),
    ("a menu of two kinds", [actions({**menu(1), "option_groups": []})], "either options or option_groups"),
    ("an overflow of 6", [section(accessory={"type": "overflow", "options": options(6)})], "no more than 5"),
    ("a field to type in among buttons", [actions({"type": "plain_text_input"})], "unsupported type"),
    ("an image without words", [{"type": "image", "image_url": "https://example.com/a"}], "field: alt_text"),
    ("an image from nowhere", [{"type": "image", "alt_text": "x"}], "`slack_file` or `image_url`"),
    ("two tables", [table(1, 1), table(1, 1)], "only_one_table_allowed"),
    ("a table of 101 rows", [table(101, 1)], "no more than 100 items"),
    ("a table of 21 columns", [table(1, 21)], "no more than 20 items"),
    ("a table of 10,001 characters", [table(100, 1, "x" * 101)], "less than 10001 characters"),
    ("an empty cell", [table(1, 1, "")], "must be more than 0 characters"),
    ("a table of words", [{"type": "table", "rows": [["x"]]}], "must provide an object"),
    ("a markdown block of 12,001", [{"type": "markdown", "text": "x" * 12_001}], "less than 12001"),
    ("empty rich text", [rich()], "no fewer than 1 items"),
    ("an empty word", [rich(sentence(word("")))], "must be more than 0 characters"),
    ("a word outside a sentence", [rich(word())], "unsupported type: text [json-pointer:/blocks/0/el"),
    ("a style that is a word", [rich(sentence(word(style="bold")))], "must provide an object"),
    ("a style without a name", [rich(sentence(word(style={"loud": True})))], "property: loud"),
    ("a list that is neither", [rich(listed("numbered"))], "must be one of: bullet, ordered"),
    ("a list too deep", [rich(listed(indent=9))], "must be between 0 and 8"),
    ("a list of words", [rich({**listed(), "elements": [word()]})], "unsupported type: text"),
    ("a list in a sentence", [rich(sentence(listed()))], "unsupported type: rich_text_list"),
    ("a link that runs code", [rich(sentence({"type": "link", "url": "javascript:x"}))], "invalid URL"),
    ("a link to nowhere", [rich(sentence({"type": "link", "text": "S1"}))], "missing required field: url"),
    ("bold code", [rich({"type": "rich_text_preformatted", "elements": [{"type": "emoji", "name": "x"}]})],
     "unsupported type: emoji"),
]  # fmt: skip


@pytest.mark.parametrize("blocks", [b for _, b in FITS], ids=[name for name, _ in FITS])
def test_blocks_within_the_bounds_are_taken(blocks: list[Json]) -> None:
    assert check_blocks(blocks) == blocks


@pytest.mark.parametrize(("blocks", "words"), [h[1:] for h in HOSTILE], ids=[h[0] for h in HOSTILE])
def test_blocks_over_the_bounds_are_refused_with_what_and_where(blocks: list[Json], words: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_blocks(blocks)
    assert refused.value.code == "invalid_blocks"
    assert any(words in one for one in refused.value.problems), refused.value.problems


@pytest.mark.parametrize("character", ["x", "字", "あ"])
def test_all_blocks_together_are_bounded_in_characters_not_bytes(character: str) -> None:
    check_message("x", [section(character * 2900)] * 4)
    with pytest.raises(Refusal, match="msg_blocks_too_long"):
        check_message("x", [section(character * 2900)] * 5)
    with pytest.raises(Refusal, match="msg_blocks_too_long"):
        check_message("x", [{"type": "markdown", "text": character * 6001}] * 2)


def modal(*blocks: Json, **more: Any) -> Json:
    return {
        "type": "modal",
        "title": plain("Changes"),
        "submit": plain("Send"),
        "blocks": list(blocks),
        **more,
    }


def field(**more: Any) -> Json:
    return {"type": "input", "label": plain("What"), "element": {"type": "plain_text_input"}, **more}


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (modal(title=plain("x" * 25)), "less than 25 characters [json-pointer:/view/title/text]"),
        (modal(title=mrkdwn("x")), "unsupported type: mrkdwn"),
        (modal(submit=plain("x" * 25)), "less than 25 characters [json-pointer:/view/submit/text]"),
        (modal(close=plain("x" * 25)), "less than 25 characters [json-pointer:/view/close/text]"),
        (modal(private_metadata="x" * 3001), "less than 3001 characters"),
        (modal(callback_id="x" * 256), "less than 256 characters"),
        (modal(*[{"type": "divider"}] * 101), "no more than 100 items allowed [json-pointer:/view/blocks]"),
        (modal(colour="red"), "invalid additional property: colour"),
        ({k: v for k, v in modal(field()).items() if k != "submit"}, "missing required field: submit"),
        ({k: v for k, v in modal().items() if k != "title"}, "missing required field: title"),
        ({k: v for k, v in modal().items() if k != "blocks"}, "missing required field: blocks"),
        (modal(type="home"), "unsupported type: home"),
        (modal({"type": "input", "element": {"type": "plain_text_input"}}), "missing required field: label"),
        (modal(field(element={"type": "plain_text_input", "max_length": 3001})), "between 1 and 3000"),
        (
            modal(field(element={"type": "plain_text_input", "placeholder": plain("x" * 151)})),
            "less than 151",
        ),
        (modal(field(element=button())), "unsupported type: button"),
        (modal({"type": "markdown", "text": "x"}), "unsupported type: markdown"),
        ("modal", "must provide an object"),
    ],
)
def test_a_modal_over_the_bounds_is_refused(view: Json, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_view(view, "modal")
    assert refused.value.code == "invalid_arguments"
    assert any(words in one for one in refused.value.problems), refused.value.problems


def test_a_modal_within_the_bounds_is_taken() -> None:
    view = modal(
        field(), *[{"type": "divider"}] * 99, title=plain("修正を依頼する" * 3), private_metadata="x" * 3000
    )
    assert check_view(view, "modal") == view


def message(text: str, *blocks: Json) -> Message:
    return Message("C1", "1.000100", "U1", text, tuple(blocks))


@pytest.mark.parametrize(
    ("shown", "pinged"),
    [
        (message("<!channel> 你好"), ["channel"]),
        (message("x", section("<!here|here> <@U2> <!subteam^S1|@editors>")), ["here", "@U2", "!subteam^S1"]),
        (message("x", {"type": "markdown", "text": "<!everyone>"}), ["everyone"]),
        (message("x", rich(sentence({"type": "user", "user_id": "U2"}))), ["@U2"]),
        (message("x", rich(sentence({"type": "broadcast", "range": "channel"}))), ["channel"]),
        (message("x", rich(sentence(word("<!channel> <@U2>")))), []),
        (message("x", header("<!channel>")), []),
        (message("&lt;!channel&gt;", section("&lt;@U2&gt;")), []),
        (message("@channel"), []),
    ],
)
def test_it_is_known_whom_a_message_would_ping(shown: Message, pinged: list[str]) -> None:
    assert notifies(shown) == pinged


def test_every_kind_of_block_reads_as_text() -> None:
    shown = message(
        "fallback",
        header("Outline 1 · 大纲 · 構成案"),
        section("*R&amp;D* <https://example.com|S1>", accessory=button("Open")),
        {"type": "context", "elements": [mrkdwn("Reply `approve`"), picture()]},
        {"type": "divider"},
        rich(
            sentence(word("文字"), {"type": "link", "url": "https://example.com/a", "text": "S1"}),
            {**listed("ordered"), "elements": [sentence(word("一")), sentence(word("二"))]},
            listed(indent=1),
            {"type": "rich_text_quote", "elements": [word("引用")]},
            {"type": "rich_text_preformatted", "elements": [word("a\nb")]},
        ),
        {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}, rich(sentence(word("b")))]]},
        actions(button("Approve"), menu(2)),
    )
    assert plain_text(shown).splitlines() == [
        "# Outline 1 · 大纲 · 構成案",
        "*R&D* S1 (https://example.com)  [Open]",
        "Reply `approve`  [image: a hash]",
        "———",
        "文字S1 (https://example.com/a)",
        "1. 一",
        "2. 二",
        "    • x",
        "> 引用",
        "    a",
        "    b",
        "a | b",
        "[Approve] [option 0 / option 1]",
    ]


def test_a_message_without_blocks_reads_as_its_text() -> None:
    assert plain_text(message("a &lt; b &amp;&amp; c")) == "a < b && c"


KEYS = st.sampled_from(
    [
        "type",
        "text",
        "elements",
        "blocks",
        "block_id",
        "action_id",
        "rows",
        "options",
        "style",
        "title",
        "url",
    ]
)
WORDS = st.sampled_from(
    [
        "section",
        "actions",
        "button",
        "table",
        "rich_text",
        "rich_text_list",
        "mrkdwn",
        "plain_text",
        "modal",
        "字",
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@settings(derandomize=True, database=None, deadline=None, max_examples=300)
@given(ANYTHING)
def test_whatever_comes_is_taken_or_refused_and_breaks_nothing(anything: Any) -> None:
    for check in (
        lambda: check_blocks([anything]),
        lambda: check_message(anything, anything, metadata=anything),
        lambda: check_view(anything, "modal"),
        lambda: check_view({**modal(), "blocks": anything}, "modal"),
    ):
        with suppress(Refusal):
            check()
