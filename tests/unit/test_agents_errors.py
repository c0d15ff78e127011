"""What goes wrong with a model's host is said in one sentence that names what to do."""

from typing import Any

import pytest
from aiohttp import web
from openai import AsyncOpenAI
from pydantic_ai.models import override_allow_model_requests
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from agents.errors import AgentError
from agents.models import models_from
from tests.unit.agent_runs import run_analysis, run_writer
from tests.unit.password_article import chinese, desk_with, english
from tests.unit.scripted_model import said, scripted_host


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (401, "model_refused_key", "127.0.0.1 answered 401: it refused the key. Set the provider's key"),
        (403, "model_refused_key", "127.0.0.1 answered 403"),
        (404, "unknown_model", "does not take requests for gpt-4.1-mini"),
        (400, "unknown_model", "Set another model"),
        (429, "model_unreachable", "cannot answer now"),
        (500, "model_unreachable", "Retry in a while"),
        (503, "model_unreachable", "Retry in a while"),
    ],
)
async def test_an_answer_of_the_host_becomes_a_code_and_a_sentence(
    status: int, code: str, sentence: str
) -> None:
    def answer(body: dict[str, Any]) -> web.Response:
        return web.json_response({"error": {"message": "no", "type": "x", "code": None}}, status=status)

    async with scripted_host(answer) as (_, model):
        with pytest.raises(AgentError) as failed:
            await run_analysis(english(), desk_with(model))
    assert failed.value.code == code
    assert sentence in str(failed.value)
    assert failed.value.facts["host"] == "127.0.0.1"


async def test_a_host_that_is_not_there_is_unreachable() -> None:
    async with AsyncOpenAI(base_url="http://127.0.0.1:1/v1", api_key="k", max_retries=0) as client:
        model = OpenAIChatModel("gpt-4.1-mini", provider=OpenAIProvider(openai_client=client))
        with (
            override_allow_model_requests(True),
            pytest.raises(AgentError, match="cannot be reached") as failed,
        ):
            await run_writer(chinese(), desk_with(model))
    assert failed.value.code == "model_unreachable"


async def test_words_where_an_answer_was_asked_are_kept() -> None:
    async with scripted_host(lambda body: said("抱歉，我不能。" * 2_000)) as (host, model):
        with pytest.raises(AgentError) as failed:
            await run_analysis(chinese(), desk_with(model))
    assert failed.value.code == "bad_answer"
    assert failed.value.facts["answer"].startswith("抱歉，我不能。")
    assert len(failed.value.facts["answer"]) == 4_000
    assert len(host.requests) == 3


@pytest.mark.parametrize("name", ["gpt5", "nobody:model", "模型", "openai-chat:gpt-4.1-mini"])
def test_a_model_that_cannot_be_used_is_named_with_what_to_do(name: str) -> None:
    """The last one has no key here."""
    with pytest.raises(AgentError, match="cannot be used") as failed:
        models_from(name)
    assert failed.value.code == "unknown_model"
    assert repr(name) in str(failed.value)


def test_each_agent_may_have_a_model_of_its_own() -> None:
    models = models_from(None, writer="test")
    assert models.writer.model_name == "test"
    assert {models.research.model_name, models.formatter.model_name, models.analysis.model_name} == {
        "offline"
    }
    assert models_from("test", research="offline").analysis.model_name == "offline"
