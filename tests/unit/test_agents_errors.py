"""What goes wrong with a model's host is said in one sentence that names what to do."""

import logging
import socket
import ssl
import traceback
from typing import Any, get_args

import pytest
from aiohttp import web
from openai import AsyncOpenAI
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.models import override_allow_model_requests
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from agents.errors import AgentError, Code
from agents.hosts import failure as describe
from agents.hosts import key_setting
from agents.offline.model import OfflineModel
from bot.texts import failure, parameters
from knowledge.language import Language
from tests.unit.agent_runs import run_analysis, run_research, run_writer
from tests.unit.password_article import chinese, desk_with, english
from tests.unit.scripted_model import said, scripted_host

COMPLETION = {"id": "c", "object": "chat.completion", "created": 0, "model": "gpt-4.1-mini"}


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (401, "model_refused_key", "127.0.0.1 answered 401 (key refused). Set OPENAI_API_KEY on the server"),
        (403, "model_refused_key", "127.0.0.1 answered 403"),
        (402, "model_no_credit", "127.0.0.1 answered 402 that the account has no credit left. Top it up"),
        (404, "unknown_model", "127.0.0.1 answered 404 that it has no model gpt-4.1-mini"),
        (400, "model_rejected", "127.0.0.1 answered 400: no. Set another model"),
        (422, "model_rejected", "127.0.0.1 answered 422: no."),
        (413, "request_too_long", "127.0.0.1 answered 413 that the request is longer than"),
        (429, "model_busy", "127.0.0.1 answered 429 (busy). Retry in a while"),
        (500, "model_busy", "Retry in a while"),
        (503, "model_busy", "Retry in a while"),
    ],
)
async def test_an_answer_of_the_host_becomes_a_code_and_a_sentence(
    status: int, code: str, sentence: str
) -> None:
    def answer(body: dict[str, Any]) -> web.Response:
        message = "no model gpt-4.1-mini" if status == 404 else "no"
        return web.json_response({"error": {"message": message, "type": "x", "code": None}}, status=status)

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
    assert failed.value.facts["reason"] == "connection refused"
    assert failed.value.facts["address_setting"] == "OPENAI_BASE_URL"


async def test_words_where_an_answer_was_asked_are_kept() -> None:
    async with scripted_host(lambda body: said("抱歉，我不能。" * 2_000)) as (host, model):
        with pytest.raises(AgentError) as failed:
            await run_analysis(chinese(), desk_with(model))
    assert failed.value.code == "bad_answer"
    assert failed.value.facts["answer"].startswith("抱歉，我不能。")
    assert len(failed.value.facts["answer"]) == 4_000
    assert len(host.requests) == 4  # two retries, and the formatter once


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ({"finish_reason": "length", "message": said("MD5 は高速です。")}, "answer_cut_off"),
        ({"finish_reason": "length", "message": {"content": ""}}, "answer_cut_off"),
        ({"finish_reason": "content_filter", "message": {"content": ""}}, "model_declined"),
        ({"finish_reason": "stop", "message": {"content": None, "refusal": "I cannot."}}, "model_declined"),
    ],
)
async def test_an_answer_that_ends_too_early_is_told_from_one_that_broke_a_rule(
    what: dict[str, Any], code: str
) -> None:
    message = {"role": "assistant", **what["message"]}
    choice = {"index": 0, "finish_reason": what["finish_reason"], "message": message}

    def answer(body: dict[str, Any]) -> web.Response:
        return web.json_response({**COMPLETION, "choices": [choice]})

    async with scripted_host(answer) as (_, model):
        with pytest.raises(AgentError) as failed:
            await run_research(english(), desk_with(model))
    assert failed.value.code == code


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
async def test_a_key_that_a_host_repeats_is_said_nowhere(
    language: Language, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = "geheim-密钥-8f2c61d0a7"
    monkeypatch.setenv("MY_PROXY_KEY", key)
    told = f"Bad request. Authorization: Bearer sk-proj-abcdef123456; {key}; 请检查 {'x' * 400}"

    def answer(body: dict[str, Any]) -> web.Response:
        return web.json_response({"error": {"message": told}}, status=400)

    async with scripted_host(answer) as (_, model):
        with pytest.raises(AgentError) as failed:
            await run_analysis(english(), desk_with(model))
    error = failed.value
    shown = [str(error), *error.facts.values(), failure(language, error.code, error.facts), caplog.text]
    shown += traceback.format_exception(error)
    assert not [text for text in shown if key in text or "sk-proj-abcdef123456" in text]
    assert "Bad request" in error.facts["said"]
    assert len(error.facts["said"]) <= 200


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "en",
            "api.example.com refused the key. What was made so far is kept. An admin sets DEEPSEEK_API_KEY",
        ),
        ("zh", "请管理员在服务器上设置 DEEPSEEK_API_KEY，然后重试。"),
        ("ja", "管理者がサーバーに DEEPSEEK_API_KEY を設定した後、再試行してください。"),
    ],
)
def test_who_can_mend_a_refused_key_reads_how(language: Language, said: str) -> None:
    facts = {"host": "api.example.com", "key_setting": key_setting("deepseek"), "model": "deepseek-chat"}
    assert said in failure(language, "model_refused_key", facts)


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (socket.gaierror(-2, "Name or service not known"), "no such host name"),
        (ConnectionResetError(), "connection lost"),
        (ssl.SSLCertVerificationError("CERTIFICATE_VERIFY_FAILED"), "TLS: no trust"),
        (OSError("Network is unreachable"), "no connection"),
    ],
)
def test_why_a_host_cannot_be_reached_is_said_in_few_words(cause: OSError, reason: str) -> None:
    error = ModelConnectionError("qwen3", "Connection error.", phase="connect")
    error.__cause__ = RuntimeError("of some library")
    error.__cause__.__context__ = cause
    told = describe(OfflineModel(), error)
    assert (told.code, told.facts["reason"]) == ("model_unreachable", reason)
    assert f"cannot be reached ({reason}). Check the network and the base URL" in str(told)


def test_every_fact_that_a_sentence_for_people_has_a_place_for_is_one_that_errors_carry() -> None:
    """Else a sentence would always say what stands in place of the fact."""
    known = {"host", "model", "status", "reason", "said", "wait", "key_setting", "address_setting"}
    known |= {"limit", "unit", "setting", "topic"}
    for code in get_args(Code):
        assert parameters("en", f"failed_{code}") <= known
