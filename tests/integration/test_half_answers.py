"""Half an answer is none, however its host says that it ended early; and whole texts stay whole."""

import json
from collections.abc import Callable

import pytest

from agents.errors import AgentError
from agents.researcher import research
from knowledge.database import Pool
from tests.editorial_office import Office, stage_of
from tests.host_kinds import TOPICS, Kind, desk_at, of_anthropic, of_family, of_google
from tests.misbehaving_desk import misbehaving_desk
from tests.scripted_openai.family import FULL
from tests.scripted_openai.replies import Raw, Reply, Text
from tests.scripted_openai.request import ChatRequest
from tests.usual_answers import LANGUAGES, Case, right_answer

Say = Callable[[str, str], dict[str, object]]
"""From a text and why it ended to a host's answer."""


def of_openai(text: str, reason: str) -> dict[str, object]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def of_claude(text: str, reason: str) -> dict[str, object]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": text}],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 9},
    }


def of_gemini(text: str, reason: str) -> dict[str, object]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"index": 0, "finishReason": reason, "content": content}],
        "modelVersion": "gemini-2.5-flash",
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18},
    }


OPENAI, CLAUDE = of_family(FULL), of_anthropic("claude-sonnet-4-6")
GEMINI = of_google("gemini-2.5-flash")


@pytest.mark.parametrize(
    ("kind", "say", "reason"),
    [
        (OPENAI, of_openai, "content_filter"),
        (OPENAI, of_openai, "model_length"),
        (OPENAI, of_openai, "insufficient_system_resource"),
        (CLAUDE, of_claude, "refusal"),
        (GEMINI, of_gemini, "RECITATION"),
        (GEMINI, of_gemini, "SAFETY"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_half_a_report_is_no_report(kind: Kind, say: Say, reason: str, pool: Pool) -> None:
    office = Office()

    def answer(request: ChatRequest) -> Reply:
        reply = office(request)
        if stage_of(request) != "knowledge_search" or not isinstance(reply, Text):
            return reply
        half = reply.content[: len(reply.content) // 2]
        return Raw(200, json.dumps(say(half, reason)).encode())

    async with desk_at(kind, answer, pool) as (_, desk):
        with pytest.raises(AgentError) as failed:
            await research(TOPICS["zh"], "zh", questions=[], previous=None, desk=desk)
    assert failed.value.code in ("answer_cut_off", "model_declined")


@pytest.mark.parametrize("way", ["native", "prompted"])
@pytest.mark.parametrize("language", LANGUAGES)
async def test_tags_of_thinking_that_a_section_names_stay(way: str, language: str) -> None:
    said = {"en": "Models write `{}` first", "zh": "模型先写 `{}`", "ja": "モデルはまず `{}` と書く"}[
        language
    ]
    text = said.format("<think>so</think>") + " [S1]."
    case = Case("section", "en", right_answer("section", "en") | {"content": text})
    async with misbehaving_desk() as desk:
        became = await desk.put(case, case.answer, "native" if way == "native" else "prompted", helped=False)
    assert became.result.sections[0].content == text
