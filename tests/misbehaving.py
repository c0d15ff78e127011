"""What models write in place of a right answer: functions that make it of the answer that was meant."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.scripted_openai.replies import Call, Raw, ToolCalls
from tests.unit.wire_answers import as_json, written
from tests.usual_answers import SAID, Answer, Came, Case, StageName

CHAT = {
    "en": ("Here is the JSON:\n\n", "\n\nLet me know if {anything} is missing [S1]!"),
    "zh": ("以下是结果：\n\n", "\n\n如需修改{任何内容}，请告诉我 [S1]。"),
    "ja": ("以下のとおりです。\n\n", "\n\n{ご不明な点}があればお知らせください [S1]。"),
}
SPOKEN_OF = {
    "en": ("If all was fine I would say ", " but section 2 is false."),
    "zh": ("如果都没有问题，我会说", "，但是第 2 节是错的。"),
    "ja": ("問題がなければ", "と答えますが、第2節は誤りです。"),
}
EXAMPLE = {
    "en": 'Post it [S1]:\n\n```json\n{"channel": "C1", "text": "hello"}\n```\n\nThe bot answers.',
    "zh": '这样发送 [S1]：\n\n```json\n{"channel": "C1", "text": "你好"}\n```\n\n机器人会回答。',
    "ja": '次のように送る [S1]。\n\n```json\n{"channel": "C1", "text": "鍵"}\n```\n\nボットが答える。',
}
SORRY = {
    "en": "I'm sorry, but I can't help with that.",
    "zh": "抱歉，我无法完成这个请求。",
    "ja": "申し訳ありませんが、お手伝いできません。",
}
NOTHING = {"en": "None.", "zh": "无", "ja": "なし"}
NO = {"en": "No.", "zh": "否", "ja": "いいえ"}
WORDS = {"en": "critical", "zh": "高", "ja": "高い"}  # for high
DECISIONS = {"en": "Needs revision.", "zh": "需修改", "ja": "要修正"}  # for revise

# Fields of which a misbehaviour takes one, by stage.
OTHER_NAMES = {
    "findings": "keyFindings", "missing_evidence": "evidenceGaps", "title": "headline", "content": "text",
    "sections": "planned_sections", "decision": "verdict",
}  # fmt: skip
TEXTS: dict[StageName, str] = {
    "formatter": "summary", "analyst": "summary", "front": "description", "section": "content",
    "reviewer": "feedback",
}  # fmt: skip
EMPTY_LISTS: dict[StageName, str] = {
    "formatter": "gaps", "analyst": "notes", "front": "categories", "section": "notes", "planner": "notes",
}  # fmt: skip
LISTS_OF_ONE: dict[StageName, str] = {
    "formatter": "findings", "analyst": "key_points", "front": "tags", "reviewer": "issues",
}  # fmt: skip
OBJECTS: dict[StageName, str] = {
    "formatter": "findings", "analyst": "outline", "planner": "sections", "reviewer": "issues",
}  # fmt: skip
LISTS: dict[StageName, str] = {**OBJECTS, "front": "tags", "section": "notes"}
FLAGS: dict[StageName, str] = {"analyst": "needs_more_research", "planner": "rewrite_title"}
CHOICES: dict[StageName, str] = {"formatter": "confidence", "analyst": "importance", "reviewer": "severity"}


def set_field(names: Mapping[StageName, str], value: Callable[[Case], Any]) -> Callable[[Case], Came]:
    """One field with another value; which one it is depends on the stage."""
    return lambda case: case.answer | {names[case.stage]: value(case)}


def with_score(value: object) -> Callable[[Case], Came]:
    return lambda case: case.answer | {"score": value}


def without(names: Mapping[StageName, str]) -> Callable[[Case], Came]:
    return lambda case: {name: one for name, one in case.answer.items() if name != names[case.stage]}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def first_changed(case: Case, **fields: object) -> Answer:
    """Other values in the first of the answer's main objects."""
    name = {**OBJECTS, "analyst": "key_points"}[case.stage]
    first, *others = case.answer[name]
    return case.answer | {name: [first | fields, *others]}


def choice(said: Callable[[Case], str]) -> Callable[[Case], Came]:
    return lambda case: first_changed(case, **{CHOICES[case.stage]: said(case)})


def each_text(change: Callable[[str], str]) -> Callable[[Any], Any]:
    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: changed(one) for name, one in value.items()}
        if isinstance(value, list):
            return [changed(one) for one in value]
        return change(value) if isinstance(value, str) else value

    return changed


def behind_paragraphs(said: str) -> Callable[[Answer], Answer]:
    """The answer with something more in its long texts."""
    return each_text(lambda text: text.replace("\n\n", f"{said}\n\n"))


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def in_quotes(opening: str, closing: str) -> Callable[[Case], Came]:
    return lambda case: written(case.answer, string=lambda text: f"{opening}{as_json(text)[1:-1]}{closing}")


def as_object_each(case: Case) -> str:
    return "\n".join(as_json({name: value}) for name, value in case.answer.items())


def in_markdown(value: Any, depth: int = 2) -> str:
    if isinstance(value, dict):
        parts = [f"{'#' * depth} {name}\n\n{in_markdown(one, depth + 1)}" for name, one in value.items()]
        return "\n\n".join(parts)
    if isinstance(value, list):
        return "\n\n".join(f"- {in_markdown(one, depth + 1)}" for one in value)
    return str(value)


def in_xml(value: Any, name: str = "answer") -> str:
    inside = str(value)
    if isinstance(value, dict):
        inside = "".join(in_xml(one, part) for part, one in value.items())
    elif isinstance(value, list):
        inside = "".join(in_xml(one, "item") for one in value)
    return f"<{name}>{inside}</{name}>"


def deep(case: Case) -> str:
    name = LISTS[case.stage]
    return as_json(case.answer | {name: "@"}).replace('"@"', "[" * 10_000 + "]" * 10_000)


def strange_source(case: Case) -> Came:
    if case.stage == "section":
        return case.answer | {"content": f"{case.answer['content']} [S99]"}
    return first_changed(case, source_ids=["S99"])


def all_rules_broken(case: Case) -> Came:
    answers: dict[StageName, Answer] = {
        "analyst": {"outline": [{"heading": "#", "description": "", "source_ids": ["S99"]}] * 2},
        "front": {"title": "**"},
        "section": {"content": "[S98] [S99]"},
        "planner": {"sections": [{"number": 99, "heading": "", "change": "x", "source_ids": ["S99"]}] * 2},
        "reviewer": {"issues": []},
    }
    return case.answer | answers[case.stage]


def said_by_host(message: Mapping[str, Any], finish_reason: str = "stop", **more: Any) -> Raw:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], **more}
    return Raw(200, json.dumps(body).encode())


def called(tool: str, arguments: Answer, *, times: int = 1, text: str | None = None) -> ToolCalls:
    return ToolCalls([Call(tool, arguments)] * times, text=text, broken=True)


def cut_off_call(case: Case) -> Raw:
    function = {"name": case.tool, "arguments": cut_off(case)}
    call = {"id": "1", "type": "function", "function": function}
    return said_by_host({"content": None, "tool_calls": [call]}, "length")


def thinking(case: Case) -> str:
    return f'<think>{SAID[case.language]} {{"score": 1}}</think>\n{as_json(case.answer)}'


def cut_off(case: Case) -> str:
    whole = as_json(case.answer)
    return whole[: len(whole) * 2 // 3]


def template(case: Case) -> str:
    """What stands in a prompt as an example: the names, and a word for each value."""
    return as_json(dict.fromkeys(case.answer, "…"))


def another(case: Case) -> Answer:
    """A second right answer: with another text somewhere."""
    changed: Answer = each_text(lambda text: text.replace("MD5", "SHA-1"))(case.answer)
    return changed
