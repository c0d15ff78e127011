"""From settings to models: what can be used, what cannot and why, and how long a host is waited for."""

import asyncio
import ssl

import pytest
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents.errors import AgentError
from agents.models import models_from
from agents.patience import NotAnAnswer, Patience, PatientModel

AT_ONCE = Patience(first_wait=0.001)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gpt5", "Unknown model: gpt5"),
        ("nobody:model", "nobody"),
        ("模型", "Unknown model: 模型"),
        ("モデル:日本語", "モデル"),
        ("openai-chat:", "names a provider and no model"),
        ("openai-chat:gpt-4.1-mini", "Set the `OPENAI_API_KEY` environment variable"),
        ("deepseek:deepseek-chat", "Set the `DEEPSEEK_API_KEY` environment variable"),
        ("ollama:qwen3", "Set the `OLLAMA_BASE_URL` environment variable"),
        ("anthropic:claude-opus-4", "Set the `ANTHROPIC_API_KEY` environment variable"),
        ("google:gemini-2.5-pro", "Set the `GOOGLE_API_KEY` environment variable"),
        ("mistral:mistral-large-latest", 'pip install "pydantic-ai-slim[mistral]"'),
        ("cohere:command-r", 'pip install "pydantic-ai-slim[cohere]"'),
    ],
)
def test_a_model_that_cannot_be_used_is_named_with_what_to_do(
    name: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    if "OPENAI_API_KEY" not in why:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(AgentError, match="cannot be used") as failed:
        models_from(name)
    assert failed.value.code == "unknown_model"
    assert repr(name) in str(failed.value)
    assert why in str(failed.value)
    assert "api_key=" not in str(failed.value)  # words for programmers


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("OPENAI_API_KEY", "geheim\n", "OPENAI_API_KEY holds characters that no key has"),
        ("OPENAI_API_KEY", "你的密钥", "OPENAI_API_KEY holds characters that no key has"),
        ("OPENAI_API_KEY", "“sk-geheim”", "OPENAI_API_KEY holds characters that no key has"),
        ("OPENAI_API_KEY", "", "OPENAI_API_KEY is set, but empty"),
        ("OPENAI_BASE_URL", "localhost:11434/v1", "OPENAI_BASE_URL is no address of a host"),
        ("OPENAI_BASE_URL", "http://", "OPENAI_BASE_URL is no address of a host"),
        ("OPENAI_BASE_URL", "http://[bad", "OPENAI_BASE_URL is no address of a host"),
        ("OPENAI_BASE_URL", " http://127.0.0.1:1/v1 ", "OPENAI_BASE_URL is no address of a host"),
        ("OPENAI_BASE_URL", "", "OPENAI_BASE_URL is no address of a host"),
    ],
)
def test_a_key_or_an_address_that_no_request_could_use_is_refused_at_once(
    setting: str, value: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv(setting, value)
    with pytest.raises(AgentError, match="cannot be used") as failed:
        models_from("openai-chat:gpt-4.1-mini")
    assert why in str(failed.value)
    assert "geheim" not in str(failed.value)
    assert "密钥" not in str(failed.value)


def test_a_host_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert models_from("openai-chat:qwen3").writer.base_url == "http://127.0.0.1:1/v1/"


def test_each_agent_may_have_a_model_of_its_own() -> None:
    models = models_from(None, writer="test")
    assert models.writer.model_name == "test"
    assert {models.research.model_name, models.formatter.model_name, models.analysis.model_name} == {
        "offline"
    }
    assert models_from("test", research="offline").analysis.model_name == "offline"
    assert models_from(" test ", reviewer="").reviewer.model_name == "test"


def test_roles_of_one_name_share_a_model_and_those_of_one_provider_its_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")
    models = models_from(
        "openai-chat:gpt-4.1-mini", writer="openai-chat:gpt-4.1", reviewer="deepseek:deepseek-chat"
    )
    assert models.research is models.formatter
    assert len(models.each()) == 3
    assert models.research.provider is models.writer.provider
    assert models.research.provider is not models.reviewer.provider


Step = Exception | str


class Host:
    """A model that fails as told, one step for each time it is asked; then the last again and again."""

    def __init__(self, *steps: Step) -> None:
        self.asked = 0
        self._steps = steps

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = self._steps[min(self.asked, len(self._steps) - 1)]
        self.asked += 1
        if isinstance(step, Exception):
            raise step
        return ModelResponse(parts=[TextPart(step)])


async def asked(host: Host, patience: Patience = AT_ONCE) -> str:
    request = ModelRequest(parts=[UserPromptPart("为什么 MD5 不安全？")])
    model = PatientModel(FunctionModel(host.answer), patience)
    response = await model.request([request], None, ModelRequestParameters())
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def http(status: int, **headers: str) -> ModelHTTPError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ModelHTTPError(status, "m", {"message": "no"}, headers=named)


def distrusted() -> ModelConnectionError:
    error = ModelConnectionError("m", "Connection error.", phase="connect")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed certificate")
    return error


def again() -> ModelRateLimitError:
    return ModelRateLimitError("m", "slow down")


@pytest.mark.parametrize(
    "error",
    [
        *(http(status) for status in (408, 409, 425, 429, 500, 502, 503, 504, 520, 529)),
        http(400, x_should_retry="true"),
        ModelConnectionError("m", "refused", phase="connect"),
        ModelConnectionError("m", "gone", phase="read"),
        ModelTimeoutError("m", "no connection", phase="connect"),
        ModelUnavailableError("m", "gRPC says unavailable"),
        again(),
    ],
    ids=str,
)
async def test_what_may_pass_is_asked_again_and_the_answer_taken(error: ModelAPIError) -> None:
    host = Host(error, error, "答案")
    assert await asked(host) == "答案"
    assert host.asked == 3


@pytest.mark.parametrize(
    "error",
    [
        *(http(status) for status in (400, 401, 403, 404, 405, 413, 422, 501, 505)),
        http(503, x_should_retry="false"),
        http(429, retry_after="61"),
        ModelHTTPError.for_category(ModelQuotaExceededError, status_code=429, model_name="m", body=None),
        ModelAuthenticationError("m", "no"),
        distrusted(),
        ModelQuotaExceededError("m", "no credit"),
    ],
    ids=str,
)
async def test_what_waiting_does_not_mend_is_asked_once(error: ModelAPIError) -> None:
    host = Host(error)
    with pytest.raises(type(error)) as failed:
        await asked(host)
    assert failed.value is error
    assert host.asked == 1


async def test_after_four_tries_the_error_comes_out_as_it_was() -> None:
    error = http(500)
    host = Host(error)
    with pytest.raises(ModelHTTPError) as failed:
        await asked(host)
    assert failed.value is error
    assert host.asked == 4


async def test_silence_is_waited_for_twice() -> None:
    host = Host(ModelTimeoutError("m", "no answer", phase="read"))
    with pytest.raises(ModelTimeoutError):
        await asked(host)
    assert host.asked == 2


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (AttributeError("'int' object has no attribute 'isdigit'"), "AttributeError"),
        (UnexpectedModelBehavior("expected JSON data"), "expected JSON data"),
        (ModelAPIError("m", "Failed to decode response as JSON"), "Failed to decode"),
    ],
)
async def test_what_a_library_stumbles_over_is_no_answer_and_asked_once(
    failure: Exception, said: str
) -> None:
    host = Host(failure)
    with pytest.raises(NotAnAnswer, match=said):
        await asked(host)
    assert host.asked == 1


@pytest.mark.parametrize(
    "failure",
    [IndexError("list index out of range"), UnexpectedModelBehavior("Invalid response: choices is null")],
)
async def test_an_answer_that_lacks_a_part_is_asked_for_again(failure: Exception) -> None:
    host = Host(failure)
    with pytest.raises(NotAnAnswer):
        await asked(host)
    assert host.asked == 4


async def test_all_tries_together_are_bounded() -> None:
    async def never(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    model = PatientModel(FunctionModel(never), Patience(total=0.01))
    with pytest.raises(ModelRequestTimeout):
        await model.request([ModelRequest(parts=[])], None, ModelRequestParameters())


async def test_waits_grow_and_follow_what_the_host_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("agents.patience.asyncio.sleep", sleep)
    assert await asked(Host(http(500), http(500), http(500), "ok"), Patience(first_wait=8)) == "ok"
    assert [low <= wait <= 2 * low for low, wait in zip([4, 8, 16], waits, strict=True)] == [True] * 3
    waits.clear()
    assert await asked(Host(http(429, retry_after="60"), "ok"), Patience(first_wait=1)) == "ok"
    assert 60 < waits[0] <= 61
    waits.clear()
    assert await asked(Host(http(429, retry_after_ms="250"), "ok"), Patience(first_wait=1)) == "ok"
    assert 0.25 < waits[0] <= 1.25
