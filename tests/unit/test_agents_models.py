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
from agents.patience import NotAnAnswer, Patience, PatientModel, Tries
from agents.turns import Turns, address_of, turns_at

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
    async with asyncio.timeout(20):
        with pytest.raises(ModelRequestTimeout):
            await model.request([ModelRequest(parts=[])], None, ModelRequestParameters())


def test_waits_grow_and_follow_what_the_host_asks_for() -> None:
    tries = Tries(Patience(first_wait=8))
    for low in (4, 8, 16):
        assert low <= tries.wait_after(http(500)) <= 2 * low
    assert 60 < Tries(Patience()).wait_after(http(429, retry_after="60")) <= 61
    assert 0.25 < Tries(Patience()).wait_after(http(429, retry_after_ms="250")) <= 1.25


@pytest.mark.parametrize("said", ["-5", "nan", "inf", "soon", "いつか", "1e3", "Mon, 99 Nov 2026", ""])
def test_a_retry_after_that_says_nothing_is_none(said: str) -> None:
    assert 0.5 <= Tries(Patience()).wait_after(http(429, retry_after=said)) <= 1


class OneAtATime:
    """Calls of a host that takes one at a time. Each step of a name is what it gets when it is asked."""

    def __init__(self, patience: Patience = AT_ONCE, **steps: list[Step]) -> None:
        self.asked: list[str] = []
        self.refused = asyncio.Event()
        self._turns = Turns(1)
        self._patience = patience
        self._steps = {name: list(given) for name, given in steps.items()}

    async def call(self, name: str) -> str:
        async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.asked.append(name)
            await asyncio.sleep(0)
            step = self._steps[name].pop(0)
            if isinstance(step, Exception):
                self.refused.set()
                raise step
            return ModelResponse(parts=[TextPart(step)])

        model = PatientModel(FunctionModel(answer), self._patience, self._turns)
        async with asyncio.timeout(20):
            response = await model.request([ModelRequest(parts=[])], None, ModelRequestParameters())
        return "".join(part.content for part in response.parts if isinstance(part, TextPart))


async def test_who_was_told_to_wait_goes_first_and_who_failed_queues_again() -> None:
    told = OneAtATime(one=[http(429, retry_after_ms="20"), "一"], two=["二"])
    assert await asyncio.gather(*map(told.call, ["one", "two"])) == ["一", "二"]
    assert told.asked == ["one", "one", "two"]
    failed = OneAtATime(one=[http(500), "一"], two=["二"])
    assert await asyncio.gather(*map(failed.call, ["one", "two"])) == ["一", "二"]
    assert failed.asked == ["one", "two", "one"]


async def test_the_wait_between_tries_holds_no_place() -> None:
    host = OneAtATime(Patience(first_wait=30), one=[http(503), "never"], two=["はい"])
    one = asyncio.create_task(host.call("one"))
    assert await asyncio.wait_for(host.call("two"), timeout=20) == "はい"
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    assert host.asked == ["one", "two"]


async def test_a_call_cancelled_while_its_host_wants_none_gives_its_place_back() -> None:
    host = OneAtATime(one=[http(429, retry_after_ms="50"), "never"], two=["好"])
    one = asyncio.create_task(host.call("one"))
    await host.refused.wait()
    one.cancel()
    assert await asyncio.wait_for(host.call("two"), timeout=20) == "好"


async def test_time_is_counted_from_the_turn_and_is_up_within_it() -> None:
    async def never(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    turns = Turns(1)
    slow = PatientModel(FunctionModel(never), Patience(total=0.1), turns)
    calls = [slow.request([ModelRequest(parts=[])], None, ModelRequestParameters()) for _ in range(3)]
    started = asyncio.get_running_loop().time()
    async with asyncio.timeout(20):
        ended = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(error) for error in ended] == [ModelRequestTimeout] * 3
    assert asyncio.get_running_loop().time() - started >= 0.29  # one after the other, each with its own time


@pytest.mark.parametrize(
    ("name", "setting", "address", "at_once"),
    [
        ("openai-chat:gpt-4.1-mini", "OPENAI_BASE_URL", "https://api.openai.com/v1", 8),
        ("openai-chat:qwen3", "OPENAI_BASE_URL", "http://127.0.0.1:8080/v1", 4),
        ("openai-chat:qwen3", "OPENAI_BASE_URL", "http://[::1]:8080/v1", 4),
        ("openai-chat:qwen3", "OPENAI_BASE_URL", "http://localhost:8080/v1", 4),
        ("ollama:qwen3", "OLLAMA_BASE_URL", "http://localhost:11434/v1", 4),
        ("vllm:qwen3", "VLLM_BASE_URL", "http://localhost:8000/v1", 8),
        ("openai-chat:qwen3", "OPENAI_BASE_URL", "http://模型.example:8080/v1", 8),
    ],
)
async def test_a_host_is_asked_as_much_at_once_as_such_a_host_takes(
    name: str, setting: str, address: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv(setting, address)
    model = models_from(name).writer
    assert turns_at(model).at_once == at_once


def test_a_password_in_an_address_is_not_part_of_the_name_of_its_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:geheim@LLM.example:8080/v1")
    assert address_of(models_from("openai-chat:qwen3").writer) == "llm.example:8080"
