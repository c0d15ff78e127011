"""What models write around and between the fields of an answer: it reads as what was meant, or not at all."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from agents.repair import looks_cut_off, repair
from agents.slips import REPAIRS
from agents.wire import FindingsAnswer, ReviewAnswer, SectionAnswer
from tests.unit.wire_answers import SCHEMAS, TEXTS, Answer, as_json, renamed, right_answer, written

Raw = str | dict[str, Any]

INTRODUCED = {
    "en": ("Here is the JSON:\n\n", "\n\nLet me know if {anything} is missing [S1]!"),
    "zh": ("以下是结果：\n\n", "\n\n如需修改{任何内容}，请告诉我 [S1]。"),
    "ja": ("以下のとおりです。\n\n", "\n\n{ご不明な点}があればお知らせください [S1]。"),
}


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def raw_lines(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def open_quotes(text: str) -> str:
    return as_json(text).replace('\\"', '"')


def typographic(text: str) -> str:
    return "“" + as_json(text)[1:-1] + "”"


def python_word(value: object) -> str:
    return repr(value)


# How it is written, the repairs that must be named, and those that may be (it depends on the answer).
Slip = tuple[Callable[[Answer, str], Raw], set[str], set[str]]
SLIPS: dict[str, Slip] = {
    "in a fence": (lambda a, _: f"```json\n{as_json(a)}\n```", {"fence"}, set()),
    "in a fence without a name": (lambda a, _: f"```\n{as_json(a)}\n```\n", {"fence"}, set()),
    "in a fence of tildes": (lambda a, _: f"~~~\n{as_json(a)}\n~~~", {"fence"}, set()),
    "in a fence that is not closed": (lambda a, _: f"```json\n{as_json(a)}", {"fence"}, set()),
    "with words around it": (lambda a, lang: as_json(a).join(INTRODUCED[lang]), {"chat"}, set()),
    "in a fence with words around it": (
        lambda a, lang: f"```json\n{as_json(a)}\n```".join(INTRODUCED[lang]),
        {"fence", "chat"},
        set(),
    ),
    "after a marker of a channel": (
        lambda a, _: f"<|channel|>final<|message|>{as_json(a)}<|return|>",
        {"chat"},
        set(),
    ),
    "in tags of a tool call": (
        lambda a, _: f'<tool_call>\n{{"name": "x", "arguments": {as_json(a)}}}\n</tool_call>',
        {"chat", "wrapped"},
        set(),
    ),
    "after thinking": (
        lambda a, lang: f'<think>\n{TEXTS[lang]} {{"score": 1}}\n</think>\n\n{as_json(a)}',
        {"thinking"},
        set(),
    ),
    "after thinking without an opening tag": (
        lambda a, lang: f'{TEXTS[lang]} {{"score": 1}}</think>{as_json(a)}',
        {"thinking"},
        set(),
    ),
    "after thinking, in a fence": (
        lambda a, _: f"<thinking>Hm.</thinking>```json\n{as_json(a)}\n```",
        {"thinking", "fence"},
        set(),
    ),
    "after a byte order mark": (lambda a, _: f"\ufeff{as_json(a)}", {"invisible"}, set()),
    "with commas after the last entries": (
        lambda a, _: written(a, before_end=",\n"),
        {"stray_comma"},
        set(),
    ),
    "with commas twice": (lambda a, _: written(a, comma=", ,"), {"stray_comma"}, set()),
    "without commas at line ends": (lambda a, _: written(a, comma="\n"), {"missing_comma"}, set()),
    "with comments": (
        lambda a, _: written(a, comma=', // it\'s "so"\n', before_end=" /* done { */ # ok\n"),
        {"comment"},
        set(),
    ),
    "as a Python literal": (lambda a, _: repr(a), {"quote_marks"}, {"bad_escape", "python_literal"}),
    "with words of Python": (
        lambda a, _: written(a, word=python_word, before_end=","),
        {"stray_comma"},
        {"python_literal"},
    ),
    "with names that are not quoted": (lambda a, _: written(a, name=str), {"unquoted"}, set()),
    "with names that are not quoted, on one line": (
        lambda a, _: written(a, name=str, comma=", "),
        {"unquoted"},
        set(),
    ),
    "with typographic quotation marks": (
        lambda a, _: written(a, string=typographic),
        {"quote_marks"},
        {"inner_quotes"},
    ),
    "with full-width marks": (
        lambda a, _: written(a, comma="，", colon="："),
        {"full_width_mark"},
        set(),
    ),
    "with line breaks in texts": (lambda a, _: written(a, string=raw_lines), {"raw_newline"}, set()),
    "with quotation marks in texts": (
        lambda a, _: written(a, string=open_quotes, comma=", "),
        {"inner_quotes"},
        set(),
    ),
    "encoded twice": (lambda a, _: json.dumps(as_json(a)), {"double_encoded"}, set()),
    "encoded three times": (lambda a, _: json.dumps(json.dumps(as_json(a))), {"double_encoded"}, set()),
    "escaped as a whole": (
        lambda a, _: json.dumps(as_json(a), ensure_ascii=False)[1:-1],
        {"double_encoded"},
        set(),
    ),
    "under the key result": (lambda a, _: {"result": a}, {"wrapped"}, set()),
    "under the name of the tool": (lambda a, _: as_json({"return_it": a}), {"wrapped"}, set()),
    "as a call with encoded arguments": (
        lambda a, _: {"name": "return_it", "arguments": as_json(a)},
        {"wrapped", "double_encoded"},
        set(),
    ),
    "as a function in a call": (
        lambda a, _: as_json({"type": "function", "function": {"name": "x", "arguments": as_json(a)}}),
        {"wrapped", "double_encoded"},
        set(),
    ),
    "in the form of the schema": (
        lambda a, _: {"type": "object", "properties": a, "required": list(a)},
        {"wrapped"},
        set(),
    ),
    "in a list of one": (lambda a, _: as_json([a]), {"wrapped"}, set()),
    "with camelCase names": (lambda a, _: renamed(a, camel), set(), {"renamed"}),
    "with capitals in names": (lambda a, _: renamed(a, str.upper), {"renamed"}, set()),
    "with spaces in names": (
        lambda a, _: as_json(renamed(a, lambda name: name.replace("_", " ").title())),
        {"renamed"},
        set(),
    ),
    "with hyphens in names": (
        lambda a, _: renamed(a, lambda name: name.replace("_", "-")),
        set(),
        {"renamed"},
    ),
    "with reasoning as a field": (lambda a, lang: {"reasoning": TEXTS[lang], **a}, {"extra_field"}, set()),
    "with a field that nobody asked for": (
        lambda a, _: {**a, "mood": "sunny", "rank": 1, "more": []},
        {"extra_field"},
        set(),
    ),
    "twice the same": (lambda a, _: f"{as_json(a)}\n{as_json(a)}", {"chat"}, set()),
    "an object for each field": (
        lambda a, _: "\n".join(as_json({name: value}) for name, value in a.items()),
        {"scattered"},
        set(),
    ),
    "with a brace too many": (lambda a, _: as_json(a) + "}", {"chat"}, set()),
    "after braces in a sentence": (
        lambda a, _: f"I filled {{name}} and [x, y]. {as_json(a)}",
        {"chat"},
        set(),
    ),
    "all at once": (
        lambda a, lang: (
            "<think>{</think>"
            + f"```json\n{written({'result': a}, string=raw_lines, before_end=',')}\n```".join(
                INTRODUCED[lang]
            )
        ),
        {"thinking", "fence", "chat", "raw_newline", "stray_comma", "wrapped"},
        set(),
    ),
}


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("tool", SCHEMAS)
@pytest.mark.parametrize("slip", SLIPS)
def test_an_answer_reads_as_it_was_meant(slip: str, tool: str, language: str) -> None:
    write, must, may = SLIPS[slip]
    answer = right_answer(tool, TEXTS[language])
    raw = write(answer, language)
    came = repair(raw, SCHEMAS[tool])
    value = json.loads(came.value) if isinstance(came.value, str) else came.value
    assert value == answer
    assert must <= set(came.repairs) <= must | may
    assert set(came.repairs) <= REPAIRS.keys()
    assert not looks_cut_off(raw)


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("tool", SCHEMAS)
def test_an_answer_that_is_right_comes_back_untouched(tool: str, language: str) -> None:
    answer = right_answer(tool, TEXTS[language])
    for raw in (answer, as_json(answer), json.dumps(answer, indent=2), f"\n {as_json(answer)}\n"):
        came = repair(raw, SCHEMAS[tool])
        assert came.value is raw
        assert came.repairs == ()


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("tool", SCHEMAS)
def test_an_answer_that_was_cut_off_anywhere_is_not_completed(tool: str, language: str) -> None:
    whole = as_json(right_answer(tool, TEXTS[language]))
    for text, step in ((whole, 1), (f"```json\n{whole}", 7), (f"<think>Hm.</think>Sure:\n{whole}", 7)):
        for end in range(text.index("{") + 1, len(text), step):
            came = repair(text[:end], SCHEMAS[tool])
            assert (came.value, came.repairs) == (text[:end], ())
            assert looks_cut_off(text[:end])


def test_reasoning_that_does_not_end_is_cut_off() -> None:
    for text in ("<think>Let me see", "<thinking>首先，", '<think>まず {"decision": "approve"} かな'):
        assert looks_cut_off(text)
        assert repair(text, ReviewAnswer).value is text


REVIEW = as_json({"issues": [], "decision": "approve", "score": 90, "feedback": "Good."})


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "I'm sorry, I can't help with that.",
        "抱歉，我无法回答。",
        "申し訳ありませんが、お答えできません。",
        "null",
        "42",
        '"approve"',
        "[]",
        "[[[1]]]",
        f"{REVIEW}\nNo, rather:\n{REVIEW.replace('90', '60')}",  # which of the two?
        f"[{REVIEW}, {REVIEW.replace('90', '60')}]",
        '{"issues": [], "decision": "approve", "score": 90, "feedback": "5" wide."}',  # where does it end?
        '{"issues": [}, "decision": "approve", "score": 90, "feedback": "Good."}',
        '{"issues" [], "decision": "approve"}',
        '{"feedback": we think that it is good, "decision": "approve"}',
        '{"issues": [{"severity": high and rising, "description": "x"}]}',
        "\ud800",
        '{"feedback": }',
        "I can't, see the notes [above",
        "すみません。[注",
    ],
)
def test_what_has_no_one_reading_comes_back_untouched(raw: str) -> None:
    came = repair(raw, ReviewAnswer)
    assert came.value is raw
    assert came.repairs == ()
    assert not looks_cut_off(raw)


def test_of_two_answers_the_one_that_can_be_used_is_taken() -> None:
    template = '{"issues": [], "decision": "approve | revise | research", "score": 0, "feedback": "…"}'
    came = repair(f"The format is {template}. My answer:\n{REVIEW}", ReviewAnswer)
    assert (came.value, came.repairs) == (json.loads(REVIEW), ("chat",))


@pytest.mark.parametrize(
    "raw",
    [
        'Send it [S1]:\n\n```json\n{"channel": "C1", "text": "hello"}\n```\n\nThe bot answers.',
        '用角色发送：\n\n{"role": "user", "content": "你好"}\n\n模型会回答。',
        '次のように送る。\n\n```json\n{"markdown": "鍵"}\n```',
        'The first {"content": "draft one", "notes": []} is poor. Better: real text [S1].',
        '草稿{"content": "草稿", "notes": []}不好。更好的是：正文。',
        '最初の{"content": "下書き", "notes": []}は不十分です。',
        f'{{"content": "draft", "notes": []}}\n\n{"A long text [S1]. " * 20}\n\n{{"a": 1}}',
        f'{"正文。" * 80}\n\n{{"content": "例", "notes": []}}\n\n{"正文。" * 80}',
        f'{"本文。" * 80}\n\n{{"text": "例", "notes": []}}',
    ],
)
def test_a_text_that_holds_an_object_is_not_that_object(raw: str) -> None:
    came = repair(raw, SectionAnswer)
    assert (came.value, came.repairs) == (raw, ())


@pytest.mark.parametrize(
    "raw",
    [
        f"If all was fine I would say {REVIEW} but section 2 is false, so it cannot be appr",
        f"I would say\n{REVIEW}\nbut section 2 is false.",
        f"{REVIEW} would be too kind.",
        f"如果没有问题，我会说{REVIEW}，但是第2节是错的。",
        f"問題がなければ{REVIEW}と答えますが、第2節は誤りです。",
        f"{REVIEW}\n\n{'Wait. Section 2 is false. ' * 10}",
    ],
)
def test_a_decision_that_was_only_thought_of_is_none(raw: str) -> None:
    came = repair(raw, ReviewAnswer)
    assert (came.value, came.repairs) == (raw, ())
    assert not looks_cut_off(raw)


def test_a_sentence_behind_an_object_has_no_end_where_a_model_could_write_no_more() -> None:
    for behind in ("so it cannot be appr", "因此不能通", "ですから承認でき", "- section 2,"):
        assert looks_cut_off(f"{REVIEW} {behind}", at_limit=True)
        assert not looks_cut_off(f"{REVIEW} {behind}")
    for whole in (
        REVIEW,
        f"```json\n{REVIEW}\n```",
        f"{REVIEW}\nThat is all.",
        f"{REVIEW} 以上。",
        "No object",
    ):
        assert not looks_cut_off(whole, at_limit=True)


@pytest.mark.parametrize(
    "thoughts", ["I read each section. " * 40, "我读了每一节。" * 60, "各節を読んだ。" * 60]
)
def test_an_answer_at_the_end_of_long_thoughts_is_taken(thoughts: str) -> None:
    for raw in (f"{thoughts}\n\n{REVIEW}", f"{thoughts}\n\n```json\n{REVIEW}\n```", f"{thoughts}{REVIEW}"):
        assert (repair(raw, ReviewAnswer).value, repair(raw, ReviewAnswer).repairs) == (
            json.loads(REVIEW),
            ("fence", "chat") if "```" in raw else ("chat",),
        )


def test_a_template_in_front_of_an_answer_is_none() -> None:
    for template in ('{"content": "…", "notes": "…"}', '{"content": "<Markdown>", "notes": ["string"]}'):
        came = repair(f'{template}\n{{"content": "正文", "notes": ["鍵"]}}', SectionAnswer)
        assert came.value == {"content": "正文", "notes": ["鍵"]}
        assert came.repairs == ("chat",)


@pytest.mark.parametrize("word", ["string", "String", "…", "...", "<正文>", "<本文>", "<your text here>"])
def test_an_answer_of_template_words_alone_has_no_text(word: str) -> None:
    came = repair({"content": word, "notes": [word]}, SectionAnswer)
    assert isinstance(came.value, dict)
    assert came.value["content"] == ""
    assert "placeholder" in came.repairs


@pytest.mark.parametrize("content", ["The word string is short: …", "字符串", "文字列", "a < b > c\n<br>"])
def test_a_text_with_such_words_beside_others_stays(content: str) -> None:
    for notes in ([], ["string"]):
        raw = {"content": content, "notes": notes}
        assert repair(raw, SectionAnswer).value is raw


def test_fields_in_objects_of_their_own_are_one_answer_only_if_nothing_is_twice_or_missing() -> None:
    lines = ['{"issues": []}', '{"decision": "approve"}', '{"score": 90}', '{"feedback": "良い。"}']
    came = repair("\n".join(lines), ReviewAnswer)
    assert came.repairs == ("scattered",)
    assert ReviewAnswer.model_validate(came.value).feedback == "良い。"
    for others in ([*lines, '{"score": 60}'], lines[:3], [*lines, '{"score": 60, "mood": "x"}']):
        raw = "\n".join(others)
        assert repair(raw, ReviewAnswer).value is raw


def test_what_is_mended_in_part_names_what_was_mended() -> None:
    came = repair('```json\n{"Decision": "ship it", "score": "80"}\n```', ReviewAnswer)
    assert came.value == {"decision": "ship it", "score": 80, "issues": []}
    assert came.repairs == ("fence", "renamed", "missing_list", "text_for_number")


def test_a_backslash_that_json_does_not_know_means_itself() -> None:
    raw = r'{"content": "match \d+ in C:\path, 路径 C:\目录, パス C:\場所, it\'s \u4e2d\ud83d\ude00"}'
    came = repair(raw, SectionAnswer)
    assert came.repairs == ("bad_escape", "missing_list")
    assert isinstance(came.value, dict)
    expected = r"match \d+ in C:\path, 路径 C:\目录, パス C:\場所, it's 中😀"
    assert came.value["content"] == expected


def test_half_of_an_emoji_does_not_reach_an_encoder() -> None:
    for raw in ('{"content": "好 \\ud83d!", "notes": []}', {"content": "好 \ud83d!", "notes": []}):
        came = repair(raw, SectionAnswer)
        assert (came.value, came.repairs) == (
            {"content": "好 \ufffd!", "notes": []},
            ("broken_character",),
        )


@pytest.mark.parametrize(
    "raw",
    [
        '{"summary": "' + 'so "it" is ' * 180_000 + '", "gaps": [], "findings": [],}',
        '{"summary": "' + "\\u4e2d" * 330_000 + '", "gaps": [], "findings": [],}',
        as_json({"summary": "長" * 2_000_000, "gaps": [], "findings": [{"x": 1}] * 1_000}),
        "word { and [ " * 160_000,
        "[" * 2_000_000,
        '{"findings": ' * 150_000,
        '{"a":1},' * 250_000,
        "{ /* " * 400_000,
        '["' * 1_000_000,
        '{"a": "b" ' * 200_000,
        "```json\n" * 250_000,
        "<think>" * 280_000,
        "`" * 2_000_000,
        "{" + '"' * 2_000_000,
        '{"x": "' + "\n " * 1_000_000,
        '{\\"' * 600_000,
    ],
    ids=range(16),
)
def test_two_megabytes_of_anything_take_linear_time(raw: str) -> None:
    """The processor's time, so that a busy machine does not matter; a quadratic reader needs minutes."""
    started = time.process_time()
    repair(raw, FindingsAnswer)
    looks_cut_off(raw)
    assert time.process_time() - started < 3


@pytest.mark.parametrize("depth", [101, 1_000, 10_000])
def test_an_answer_that_is_too_deep_to_be_written_again_is_left(depth: int) -> None:
    raw = f'{{"summary": "要約", "gaps": [], "findings": {"[" * depth}1{"]" * depth},}}'
    assert repair(raw, FindingsAnswer).value is raw
    assert not looks_cut_off(raw)


def test_deep_nesting_does_not_overflow() -> None:
    for depth in (150, 1_000, 5_000):
        for deep in ("[" * depth + "]" * depth, '{"findings": ' * depth + "1" + "}" * depth):
            for raw in (deep, deep + ",", f'{{"summary": "x", "gaps": [], "findings": {deep}, }}'):
                repair(raw, FindingsAnswer)
                looks_cut_off(raw)
    nested: list[Any] = []
    for _ in range(20_000):
        nested = [nested]
    for value in ({"findings": nested, "gaps": nested, "summary": nested}, {"result": nested}):
        repair(value, FindingsAnswer)
