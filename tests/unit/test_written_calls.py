"""Tool calls in the ways that models write them where their host does not read them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.tools import SearchArguments, mended
from agents.written_calls import written_calls

TOOLS = {"knowledge_search": ["queries", "k"], "read_source": ["passage_id", "before", "after"]}
ASKED = {"queries": ["密码", "パスワード (salt)", 'why "MD5"'], "k": 5}
CALL = json.dumps({"name": "knowledge_search", "arguments": ASKED}, ensure_ascii=False)
ARGUMENTS = json.dumps(ASKED, ensure_ascii=False)

WRITTEN = [
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"I will search first.\n\n```json\n{CALL}\n```",
    CALL,
    CALL.replace('"arguments"', '"parameters"'),
    json.dumps({"name": "knowledge_search", "arguments": ARGUMENTS}),
    json.dumps({"type": "function", "function": {"name": "knowledge_search", "arguments": ARGUMENTS}}),
    f"[TOOL_CALLS][{CALL}]",
    f"[TOOL_CALLS]knowledge_search[ARGS]{ARGUMENTS}",
    f"<function=knowledge_search>{ARGUMENTS}</function>",
    f"<|tool▁call▁begin|>function<|tool▁sep|>knowledge_search\n```json\n{ARGUMENTS}\n```<|tool▁call▁end|>",
    f"<|tool_call_begin|>functions.knowledge_search:0<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|>",
    "<|channel|>commentary to=functions.knowledge_search <|constrain|>json<|message|>"
    + ARGUMENTS
    + "<|call|>",
    f"[knowledge_search(queries={ASKED['queries']!r}, k=5)]",
    f"```python\nknowledge_search(queries={ASKED['queries']!r}, k=5)\n```",
    f"<function=knowledge_search>\n<parameter=queries>\n{json.dumps(ASKED['queries'])}\n</parameter>\n"
    "<parameter=k>\n5\n</parameter>\n</function>",
    f'<tool_call>{{"tool": "knowledge_search", "input": {ARGUMENTS},}}</tool_call>',
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_call_is_read_however_it_was_written(text: str) -> None:
    [call] = written_calls(text, TOOLS)
    assert call.tool_name == "knowledge_search"
    arguments: Any = mended(call.args_as_dict(), SearchArguments)
    assert SearchArguments.model_validate(arguments).model_dump() == ASKED


def test_several_calls_keep_their_order_and_are_bounded() -> None:
    one, two = CALL, '{"name": "read_source", "arguments": {"passage_id": "P1"}}'
    calls = written_calls(f"<tool_call>{one}</tool_call>\n<tool_call>{two}</tool_call>", TOOLS)
    assert [call.tool_name for call in calls] == ["knowledge_search", "read_source"]
    assert len(written_calls(f"{one}\n" * 50, TOOLS)) == 4


@pytest.mark.parametrize(
    "text",
    [
        'Findings\n[S1] (high) MD5 is fast — "MD5 was built to be fast."\nGaps\nSummary\nFast.',
        "凭记忆：MD5 很快。",
        "I called knowledge_search and found nothing.",
        "knowledge_search() は何も返しませんでした。",
        'knowledge_search said {"ok": false, "code": "nothing_found"}.',
        "knowledge_search(queries=...)",
        "knowledge_search(queries={'MD5'}, k=3j)",
        'knowledge_search(queries=["密码 \\ud83d"])',
        'A config: {"name": "server", "arguments": {"port": 80}}',
        '{"queries": ["MD5"]}',
        "knowledge_search(query" + "(" * 5_000,
        "",
    ],
)  # fmt: skip
def test_a_report_is_no_call(text: str) -> None:
    assert written_calls(text, TOOLS) == []


@given(st.text(), st.sampled_from(WRITTEN), st.text())
def test_nothing_around_a_call_breaks_the_reading(before: str, call: str, after: str) -> None:
    assert len(written_calls(before + call + after, TOOLS)) <= 4


@pytest.mark.parametrize(
    "piece",
    [
        "knowledge_search(",
        '{"name": "knowledge_search"',
        "<function=read_source>",
        "<function=read_source><parameter=passage_id>\n",
        "<parameter=queries>" + "\n" * 50 + "<function=knowledge_search>",
    ],
)
def test_a_very_long_text_is_read_in_linear_time(piece: str) -> None:
    """Quadratic, this would take hours."""
    assert written_calls(piece * 40_000, TOOLS) == []
