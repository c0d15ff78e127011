"""What the bot says: complete in three languages, and harmless whatever is put into it."""

import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import Code
from bot.elements import plain
from bot.slack_files import WHY_REFUSED
from bot.texts import TEXTS, TextError, failure, parameters, say, say_elements, say_plain
from knowledge.article import Action, Mode, Status
from knowledge.language import Language
from knowledge.sources import Written

LANGUAGES: tuple[Language, ...] = get_args(Language)
BOT = Path(__file__).parents[2] / "bot"

each_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.mark.parametrize("key", TEXTS)
def test_every_text_stands_in_three_languages_with_the_same_placeholders(key: str) -> None:
    assert set(TEXTS[key]) == set(LANGUAGES)
    assert all(text.strip() for text in TEXTS[key].values())
    assert parameters("en", key) == parameters("zh", key) == parameters("ja", key)


@pytest.mark.parametrize("key", TEXTS)
def test_no_text_exclaims_or_speaks_of_ai(key: str) -> None:
    for text in TEXTS[key].values():
        assert not re.search(r"[!！]|\bAI\b|人工智能|人工知能", text)


@pytest.mark.parametrize("key", TEXTS)
def test_every_placeholder_can_be_filled(key: str) -> None:
    for language in LANGUAGES:
        said = say_plain(language, key, **dict.fromkeys(parameters(language, key), 7))
        assert said
        assert not re.search(r"[{}]", said)


def test_chinese_and_japanese_texts_are_not_the_english_ones() -> None:
    same = {key for key, texts in TEXTS.items() if texts["zh"] == texts["en"] or texts["ja"] == texts["en"]}
    assert same == {"language_en", "language_zh", "language_ja"}


def test_every_text_that_the_code_names_exists() -> None:
    said = r'(?<![.\w])say(?:_plain|_elements)?\(\s*[\w."]+,\s*'
    call = re.compile(rf'(?:{said}|(?:Reply|BadCommand)\(\s*|labelled\(language, )"(\w+)"')
    named = {key for path in BOT.rglob("*.py") for key in call.findall(path.read_text(encoding="utf-8"))}
    assert "not_full_member" in named
    assert named <= set(TEXTS)


def test_every_reason_why_a_file_of_slack_is_not_read_has_its_sentence() -> None:
    keys = set(re.findall(r'NotReadable\("(\w+)"', (BOT / "slack_files.py").read_text()))
    keys |= {*WHY_REFUSED.values(), "file_not_seen"}
    assert keys == {"file_gone", "file_scope", "file_not_seen", "file_too_large", "file_elsewhere"}
    assert all("what" in parameters("ja", key) for key in keys)


@each_language
def test_every_state_action_and_failure_has_its_words(language: Language) -> None:
    keys = [
        *(f"{kind}_{status}" for kind in ("state", "line") for status in Status),
        *(f"word_{action}" for action in Action),
        *(f"mode_{mode}" for mode in Mode),
        *(f"leg_{status}" for status in ("researching", "outlining", "writing", "reviewing", "revising")),
        *(f"decision_{decision}" for decision in ("approve", "revise", "research")),
        *(
            f"{kind}_{action}"
            for kind in ("decided", "did")
            for action in ("approve", "revise", "research", "cancel")
        ),
        *(f"failed_{code}" for code in (*get_args(Code), "slack", "unexpected")),
        *(f"source_{written}" for written in get_args(Written) if written != "unchanged"),
        *(f"source_shared_{state}" for state in ("base", "known", "removed", "already")),
    ]
    assert [key for key in keys if key not in TEXTS] == []
    assert all(TEXTS[key][language] for key in keys)


@pytest.mark.parametrize(
    ("key", "params"),
    [
        ("no_such_text", {}),
        ("busy_draft", {}),
        ("busy_draft", {"version": 2, "colour": "red"}),
        ("kept_draft", {"version": 2}),
        ("kept_draft", {"text": ""}),
    ],
)
def test_an_unknown_key_and_a_wrong_parameter_are_errors(key: str, params: dict[str, str | int]) -> None:
    with pytest.raises(TextError, match=key):
        say("en", key, **params)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "en",
            "Draft 1 is published: 1,240 words, 1 source, approved by <@UBO> → <https://x.test/f|the file>",
        ),
        ("zh", "草稿 1 已发布：1,240 字，1 个来源，<@UBO> 批准 → <https://x.test/f|文件>"),
        ("ja", "原稿 1 を公開しました：1,240 字、出典 1 件、承認 <@UBO> → <https://x.test/f|ファイル>"),
    ],
)
def test_numbers_people_and_links_take_the_form_of_slack_and_of_the_language(
    language: Language, said: str
) -> None:
    params: dict[str, str | int] = {"version": 1, "words": 1240, "sources": 1, "by": "UBO"}
    assert say(language, "published", **params, link="https://x.test/f") == said


def test_english_knows_one_and_many() -> None:
    one = {"searches": 1, "passages": 1, "sources": 1}
    assert say("en", "part_found", **one) == "1 search, 1 passage from 1 source"
    many = {"searches": 0, "passages": 2, "sources": 1000}
    assert say("en", "part_found", **many) == "0 searches, 2 passages from 1,000 sources"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "<@UANA> approved draft 2 a moment ago; yours was not needed."),
        ("zh", "<@UANA> 刚刚通过了草稿 2，您不必再操作。"),
        ("ja", "<@UANA> さんが先に原稿 2 を承認したので、操作は不要です。"),
    ],
)
def test_names_of_things_come_in_the_language_of_the_text(language: Language, said: str) -> None:
    assert say(language, "somebody_faster", by="UANA", action="approve", on="draft", version=2) == said


@pytest.mark.parametrize(
    ("language", "bare", "quoted"),
    [
        ("en", "Kept for draft 2: what the review asks for.", 'Kept for draft 2: "shorter".'),
        ("zh", "已记下，用于草稿 2：审稿提出的意见。", "已记下，用于草稿 2：“shorter”。"),
        ("ja", "原稿 2 に反映します：レビューの指摘", "原稿 2 に反映します：「shorter」"),
    ],
)
def test_an_empty_request_is_not_quoted(language: Language, bare: str, quoted: str) -> None:
    assert say(language, "kept_draft", version=2, text="") == bare
    assert say(language, "kept_draft", version=2, text="shorter") == quoted


@pytest.mark.parametrize(
    "hostile", ["<!channel>", "<@U123>", "<!subteam^S1>", "<#C1>", "<https://x|y>", "&lt;!here&gt;"]
)
@each_language
def test_what_people_typed_comes_to_life_in_no_text(language: Language, hostile: str) -> None:
    said = say(language, "request_taken_outline", text=hostile)
    assert "<" not in said
    assert "&amp;" in said or "&lt;" in said
    elements = say_elements(language, "request_taken_outline", {"text": hostile})
    assert {element["type"] for element in elements} == {"text"}
    assert hostile in plain(elements)


@pytest.mark.parametrize(
    "name", ["<!channel>", "@here", "U1> <!here", "<@U1>", "ana", "ＵＡＮＡ", "U1, x", "S1", ""]
)
@each_language
def test_only_ids_become_mentions(language: Language, name: str) -> None:
    assert "<" not in say(language, "cancelled", by=name)
    kinds = {element["type"] for element in say_elements(language, "cancelled", {"by": name})}
    assert kinds == {"text"}


def test_several_approvers_are_mentioned_one_by_one() -> None:
    assert "<!subteam^SEDIT>, <@UANA>" in say("en", "not_approver", who="SEDIT, UANA")


@pytest.mark.parametrize("link", ["", "javascript:alert(1)", "https://x.test/>|<!channel>", "notaurl"])
@each_language
def test_a_link_that_leads_nowhere_shows_its_label(language: Language, link: str) -> None:
    said = say(language, "older_version", on="outline", seen=1, current=2, link=link)
    assert "<" not in said
    assert say_plain(language, "on_outline") + " 2" in said


def test_a_title_with_marks_stays_inside_its_link() -> None:
    said = say(
        "en",
        "already_exists",
        id=3,
        topic="a|b> <!here> & c",
        link="https://x.test/?a=1&b=2",
        status="failed",
    )
    assert "<https://x.test/?a=1&amp;b=2|" in said
    assert re.findall("<[^>]*>", said) == [said[said.index("<") : said.index(">") + 1]]


@given(
    st.sampled_from(LANGUAGES),
    st.text(max_size=20),
    st.dictionaries(st.text(max_size=8), st.text(max_size=20)),
)
def test_a_failure_always_finds_words(language: Language, code: str, facts: dict[str, str]) -> None:
    assert failure(language, code, facts)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "The model host refused the key."),
        ("zh", "密钥未被接受（模型服务）。"),
        ("ja", "キーが拒否されました（モデルの提供元）。"),
    ],
)
def test_a_failure_says_what_it_knows(language: Language, said: str) -> None:
    assert failure(language, "model_refused_key", {}).startswith(said)
    known = failure(language, "model_refused_key", {"host": "api.example.com", "answer": "secret"})
    assert "api.example.com" in known
    assert "secret" not in known


@given(
    st.sampled_from(LANGUAGES),
    st.sampled_from(sorted(TEXTS)),
    st.one_of(st.text(max_size=40), st.integers(0, 10**6)),
)
def test_the_three_ways_to_say_a_text_say_the_same(language: Language, key: str, value: str | int) -> None:
    params: dict[str, str | int] = dict.fromkeys(parameters(language, key), value)
    elements = say_elements(language, key, params)
    shown = "".join(str(e.get("text") or e.get("user_id") or e.get("usergroup_id")) for e in elements)
    visible = re.compile(r"[^\w]|_")
    assert visible.sub("", shown) == visible.sub("", say_plain(language, key, **params))
    assert not re.search(r"<!(channel|here|everyone)", say(language, key, **params))
