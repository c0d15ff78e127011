"""Texts of an answer come out of what models put around them, and code that speaks of such things stays."""

import json
import time
from typing import Any

import pytest

from agents.repair import repair
from agents.text_wrappings import bare_text
from agents.wire import ReviewAnswer, SectionAnswer

TEXTS = {
    "en": "MD5 is fast [S1].\n\n- one card\n- many cards\n\n```go\nx := 1\n```\n\nIt is old.",
    "zh": "MD5 很快 [S1]。\n\n- 一块显卡\n- 多块显卡\n\n```go\nx := 1\n```\n\n它很旧。",
    "ja": "MD5 は速い [S1]。\n\n- 一枚\n- 複数枚\n\n```go\nx := 1\n```\n\n古い。",
}


def section(content: Any) -> tuple[Any, tuple[str, ...]]:
    came = repair({"content": content, "notes": []}, SectionAnswer)
    assert isinstance(came.value, dict)
    return came.value["content"], came.repairs


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("opening", ["```markdown", "```md", "```", "````Markdown", "~~~markdown"])
def test_a_section_in_a_fence_comes_out_of_it(opening: str, language: str) -> None:
    closing = opening.lower().removesuffix("markdown").removesuffix("md")
    assert section(f"{opening}\n{TEXTS[language]}\n{closing}") == (TEXTS[language], ("fenced_text",))


@pytest.mark.parametrize(
    "content",
    [
        "```go\nx := 1\n```",
        "```\na\n```\n说明。\n```\nb\n```",  # two blocks, and a text between
        "```markdown\n# 見出し\n```\n本文。\n```sh\nls\n```",
        "```markdown\nNo end.",
        "In words: ```markdown\nx\n```",
    ],
)
def test_fences_that_are_part_of_a_section_stay(content: str) -> None:
    assert section(content) == (content, ())


def test_a_fence_is_taken_from_markdown_alone() -> None:
    raw = {"issues": [], "decision": "revise", "score": 1, "feedback": "```\n命令\n```"}
    assert repair(raw, ReviewAnswer).value is raw


@pytest.mark.parametrize("language", TEXTS)
def test_line_breaks_that_were_escaped_twice_are_line_breaks(language: str) -> None:
    assert section(TEXTS[language].replace("\n", "\\n")) == (TEXTS[language], ("escaped_text",))


def test_letters_that_were_escaped_twice_are_letters() -> None:
    for text in ("MD5 很快 [S1]。\n\n它\u3000旧。", "MD5は速い", "It\u2019s \u201cslow\u201d \U0001f600"):
        escaped = text.encode("ascii", "backslashreplace").decode().replace("\\U0001f600", "\\ud83d\\ude00")
        assert bare_text(escaped, markdown=True) == (text, ["escaped_text"])


@pytest.mark.parametrize(
    "content",
    [
        r"Lines end with `\n`, 用 `\n\n` 分段, `\u5feb\u5feb` は「快快」。",
        r"It lies in C:\new\nginx. See C:\notes.",
        r"Where $a \neq b$ and $\nu > 0$.",
        r"They are joined by \n\n here, and end with \n.",
        r"分隔符是 \n，不是 \r\n。",
        r"改行は \n です",
        r"\u5feb\u5feb は快快と読む",
        "A real line.\nIt says \\n\\nand more.",
        r'["用 \"Argon2id\".\n\nIt needs memory.\n"]',  # JSON, whose escapes are its own
    ],
)
def test_escapes_that_a_section_speaks_of_stay(content: str) -> None:
    assert section(content) == (content, ())


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("mark", ["<|im_end|>", "\n<|eot_id|>\n", "</s>", "<end_of_turn><eos>"])
def test_marks_of_the_end_are_taken_from_a_text(mark: str, language: str) -> None:
    assert section(TEXTS[language] + mark) == (TEXTS[language], ("end_mark",))


@pytest.mark.parametrize(
    "content", ["ChatML ends with `<|im_end|>`", "<s>旧</s>", "`</s>` が終わり。", "<|im_end|> ends a turn."]
)
def test_marks_of_the_end_that_a_section_speaks_of_stay(content: str) -> None:
    assert section(content) == (content, ())


@pytest.mark.parametrize("language", TEXTS)
def test_an_answer_inside_of_its_own_text_comes_out_of_it(language: str) -> None:
    inner: Any = {"content": TEXTS[language], "notes": ["注"]}
    for written in (json.dumps(inner), json.dumps({**inner, "content": json.dumps(inner)})):
        for content in (written, f"```json\n{written}\n```"):
            came = repair({"content": content, "notes": []}, SectionAnswer)
            assert (came.value, came.repairs) == (inner, ("double_encoded",))


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        ('{"content": "x", "notes": ["a"]}', ["b"]),  # which notes?
        ('{"role": "user", "content": "你好"}', []),
        ('Send {"content": "鍵"}', []),
    ],
)
def test_another_object_in_a_text_stays(content: str, notes: list[str]) -> None:
    raw = {"content": content, "notes": notes}
    assert repair(raw, SectionAnswer).value is raw


@pytest.mark.parametrize(
    "text",
    [
        "\\n" * 25_000,
        "\\n \\t" * 10_000 + "a",
        "```" + " " * 49_000,
        "~" * 49_000,
        "~~~\n" + "~" * 40_000 + "`",
        "`" * 49_000,
        "".join("`" * length + "x" for length in range(1, 300)),
        "<|im_end|>" * 4_900,
        "\\u5feb" * 8_000,
        "\\" * 50_000,
        "<s>" + "</s>" * 12_000,
        "x\n```a\n" * 7_000,
    ],
    ids=range(12),
)
def test_long_texts_take_linear_time(text: str) -> None:
    started = time.process_time()
    bare_text(text, markdown=True)
    bare_text(f"```\n{text}\n```", markdown=True)
    assert time.process_time() - started < 1
