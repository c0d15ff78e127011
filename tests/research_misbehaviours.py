"""Ways in which the model of a research misbehaves, and what must become of each, over the wire."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agents.desk import Desk
from agents.errors import AgentError
from agents.researcher import research
from knowledge.database import Pool
from knowledge.language import Language
from tests.editorial_office import Office, stage_of
from tests.host_kinds import TOPICS, desk_at, of_family
from tests.scripted_openai.family import FULL
from tests.scripted_openai.replies import Call, Raw, Refusal, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest

ResearchEnd = Literal["as it was", "mended", "asked again", "in words", "fallback", "failed and kept"]
Fate = tuple[ResearchEnd, int]
"""What becomes of it, and how many requests it takes beyond the two of a search and a report."""

Spoil = Callable[[ChatRequest, int], Reply | None]
"""From a request to the researcher and its number, from 1, to what comes; None: what is sensible."""

MENDED: Fate = ("mended", 0)

FROM_MEMORY = {"en": "From memory: MD5 is fast.", "zh": "凭记忆：MD5 很快。", "ja": "記憶より：MD5 は速い。"}


@dataclass(frozen=True)
class ResearchMisbehaviour:
    """What becomes of it where a fallback model helps, and alone."""

    name: str
    came: Spoil
    helped: Fate
    alone: Fate | None = None  # where it ends otherwise without a fallback model

    def fate(self, *, helped: bool) -> Fate:
        return self.helped if helped or self.alone is None else self.alone


def first(reply: Callable[[ChatRequest], Reply], times: int = 1) -> Spoil:
    return lambda request, number: reply(request) if number <= times else None


def at_the_report(reply: Callable[[ChatRequest], Reply]) -> Spoil:
    """Once, when the model has searched."""
    seen: list[int] = []

    def spoil(request: ChatRequest, number: int) -> Reply | None:
        if number == 1:
            seen.clear()
        if request.tool_results and not seen:
            seen.append(number)
            return reply(request)
        return None

    return spoil


def always(reply: Callable[[ChatRequest], Reply]) -> Spoil:
    return lambda request, number: reply(request)


def searching(arguments: object, name: str = "knowledge_search") -> Callable[[ChatRequest], Reply]:
    said = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return lambda request: ToolCalls([Call(name, said)], broken=True)


def said(text: str) -> Callable[[ChatRequest], Reply]:
    return lambda request: Text(text)


def written(call: str) -> Callable[[ChatRequest], Reply]:
    arguments = json.dumps({"queries": ["MD5", "密码", "パスワード"], "k": 10}, ensure_ascii=False)
    return said(call.replace("@", arguments))


def _without_functions(request: ChatRequest, number: int) -> Reply | None:
    """As of a host that drops them: the model does not see that there are any."""
    return Text(FROM_MEMORY["zh"]) if request.tools else None


def _endless(request: ChatRequest) -> Reply:
    return ToolCalls([Call("knowledge_search", {"queries": [f"MD5 {len(request.messages)}"]})])


def _half_a_character(request: ChatRequest) -> Reply:
    body = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request.model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "@"}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    }  # fmt: skip
    report = json.dumps(_report_of(request) + "\n𝔊")[1:-1].replace("\\udd0a", "")
    return Raw(200, json.dumps(body).replace("@", report).encode())


def _cut_off(request: ChatRequest) -> Reply:
    return Text(_report_of(request)[:-9], finish_reason="length")


def _report_of(request: ChatRequest) -> str:
    reply = Office()(request)
    assert isinstance(reply, Text)
    return reply.content


ASKED_AGAIN: Fate = ("asked again", 1)
CALL = '{"name": "knowledge_search", "arguments": @}'
PYTHON = "```python\nknowledge_search(queries=['MD5', '密码', 'パスワード'], k=10)\n```"
DECLINED = "I can't help with that."

_SPOILT: list[tuple[str, Spoil, Fate] | tuple[str, Spoil, Fate, Fate]] = [
    ("a report before any search", first(said(FROM_MEMORY["ja"])), ASKED_AGAIN),
    (
        "reports from memory for ever",
        always(said(FROM_MEMORY["en"])),
        ("fallback", 4),
        ("failed and kept", 2),
    ),
    ("functions that the host drops", _without_functions, ("in words", 2)),
    ("an empty report", at_the_report(said("")), ASKED_AGAIN),
    ("a report of white space", at_the_report(said(" \n\u3000")), ASKED_AGAIN),
    ("half a character in the report", at_the_report(_half_a_character), ("as it was", 0)),
    ("a report cut off at the limit", at_the_report(_cut_off), ("fallback", 2), ("failed and kept", 0)),
    ("a refusal", always(lambda request: Refusal(DECLINED)), ("fallback", 1), ("failed and kept", -1)),
    ("arguments that are no JSON", first(searching("MD5, 密码")), ASKED_AGAIN),
    ("no queries", first(searching({"queries": []})), ASKED_AGAIN),
    ("five queries", first(searching({"queries": [*"一二三四五"]})), ASKED_AGAIN),
    ("k of 11", first(searching({"queries": ["MD5"], "k": 11})), ASKED_AGAIN),
    (
        "k of 11 for ever",
        always(searching({"queries": ["MD5"], "k": 11})),
        ("fallback", 3),
        ("failed and kept", 1),
    ),
    ("one query as text", first(searching({"queries": "MD5 密码 パスワード"})), MENDED),
    ("another name, a number as text", first(searching({"query": ["MD5"], "k": "10"})), MENDED),
    ("arguments in a string", first(searching(json.dumps(json.dumps({"queries": ["MD5"]})))), MENDED),
    ("a tool that there is not", first(searching({"q": "MD5"}, "web_search")), ASKED_AGAIN),
    ("a passage that nobody has read", first(searching({"passage_id": "P9"}, "read_source")), ASKED_AGAIN),
    ("searches without end", always(_endless), ("fallback", 8), ("failed and kept", 6)),
    ("a call between `<tool_call>` tags", first(written(f"<tool_call>{CALL}</tool_call>")), MENDED),
    ("a call behind `[TOOL_CALLS]`", first(written("[TOOL_CALLS]knowledge_search[ARGS]@")), MENDED),
    ("a call as a bare object", first(written(CALL.replace("arguments", "parameters"))), MENDED),
    ("a call as Python", first(said(PYTHON)), MENDED),
    (
        "a call in text, and a report from memory with it",
        first(written(f"<tool_call>{CALL}</tool_call>\nFindings\n[S1] (high) …")),
        MENDED,
    ),
]
RESEARCH_MISBEHAVIOURS = [ResearchMisbehaviour(*each) for each in _SPOILT]


@dataclass(frozen=True)
class ResearchBecame:
    end: ResearchEnd
    extra: int
    error: AgentError | None


async def put(
    misbehaviour: ResearchMisbehaviour, language: Language, pool: Pool, *, helped: bool
) -> ResearchBecame:
    """One research whose model misbehaves. Whatever is no AgentError is raised."""
    office, asked = Office(), [0, 0]

    def answer(request: ChatRequest) -> Reply:
        fallback = request.model == "gpt-4.1"
        if stage_of(request) != "knowledge_search":
            return office(request)
        asked[fallback] += 1
        if fallback:
            return office(request)
        return misbehaviour.came(request, asked[0]) or office(request)

    async with desk_at(of_family(FULL), answer, pool, fallback="openai-chat:gpt-4.1" if helped else None) as (
        host,
        desk,
    ):
        error = await _researched(TOPICS[language], language, desk)
        told = [result.text for request in host.requests for result in request.tool_results]
        words = any(
            not request.tools and stage_of(request) == "knowledge_search" for request in host.requests
        )
    end: ResearchEnd
    if error is not None:
        end = "failed and kept"
    elif asked[1]:
        end = "fallback"
    elif words:
        end = "in words"
    elif sum(asked) > 2:
        end = "asked again"
    else:
        end = "as it was" if misbehaviour.helped[0] == "as it was" else "mended"
    assert told or error is not None or words
    return ResearchBecame(end, sum(asked) - 2, error)


async def _researched(topic: str, language: Language, desk: Desk) -> AgentError | None:
    try:
        found = await research(topic, language, questions=[], previous=None, desk=desk)
    except AgentError as error:
        return error
    assert found.findings
    return None
