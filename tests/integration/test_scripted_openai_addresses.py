"""The scripted OpenAI host knows its addresses, keys and models, and reads nothing but JSON."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.raw_requests import send
from tests.scripted_openai.replies import Text
from tests.scripted_openai.server import ScriptedOpenAI

CHAT = "/v1/chat/completions"
EMBEDDINGS = "/v1/embeddings"
BODY = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
async def host() -> AsyncIterator[ScriptedOpenAI]:
    """A host that knows a plain and a reasoning model."""
    async with ScriptedOpenAI(lambda _: Text("ok"), models=("gpt-4.1-mini", "o4-mini")) as running:
        yield running


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"model": NaN}', b'{"user": "\\ud83d"}', "密".encode("gbk")]
)
async def test_a_body_that_is_no_json_object_is_refused(host: ScriptedOpenAI, body: bytes) -> None:
    status, answer = await send(host, CHAT, body)
    assert status == 400
    assert answer["error"]["message"].startswith("We could not parse the JSON body of your request.")


async def test_a_body_of_another_type_is_refused(host: ScriptedOpenAI) -> None:
    headers = {"Authorization": f"Bearer {host.api_key}", "Content-Type": "text/plain"}
    status, answer = await send(host, CHAT, b"{}", headers=headers)
    assert (status, answer["error"]["code"]) == (400, "unsupported_content_type")


@pytest.mark.parametrize(
    ("headers", "code", "message"),
    [
        ({}, None, "You didn't provide an API key."),
        ({"Authorization": "Basic abc"}, None, "You didn't provide an API key."),
        ({"Authorization": "Bearer "}, None, "You didn't provide an API key."),
        ({"Authorization": "Bearer ai"}, "invalid_api_key", "Incorrect API key provided: ai. You can find"),
        (
            {"Authorization": "Bearer sk-12345abcdefghwxyz"},
            "invalid_api_key",
            "provided: sk-12345********wxyz. You",
        ),
    ],
)
async def test_without_a_known_key_nothing_is_answered(
    host: ScriptedOpenAI, headers: dict[str, str], code: str | None, message: str
) -> None:
    for path, method in [(CHAT, "POST"), (EMBEDDINGS, "POST"), ("/v1/models", "GET")]:
        status, answer = await send(host, path, BODY, method, headers)
        assert (status, answer["error"]["code"]) == (401, code)
        assert message in answer["error"]["message"]


async def test_several_keys_may_be_known() -> None:
    async with ScriptedOpenAI(lambda _: Text("ok"), keys=("sk-one", "sk-two")) as host:
        assert (await send(host, CHAT, BODY, headers={"Authorization": "Bearer sk-two"}))[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "message"),
    [
        ("POST", "/chat/completions", 404, None, "Invalid URL (POST /chat/completions)"),
        ("GET", "/v1", 404, None, "Invalid URL (GET /v1)"),
        ("POST", "/v1/batches", 404, None, "Invalid URL (POST /v1/batches)"),
        ("GET", CHAT, 405, "method_not_supported", "Not allowed to GET on /v1/chat/completions"),
        ("POST", "/v1/models", 405, "method_not_supported", "Not allowed to POST"),
        ("GET", "/v1/models/gpt-99", 404, "model_not_found", "The model 'gpt-99' does not exist"),
    ],
)
async def test_other_addresses_are_refused(
    host: ScriptedOpenAI, method: str, path: str, status: int, code: str | None, message: str
) -> None:
    answered, answer = await send(host, path, BODY, method)
    assert (answered, answer["error"]["code"]) == (status, code)
    assert message in answer["error"]["message"]


async def test_models_are_listed_and_an_unknown_one_is_not_found(host: ScriptedOpenAI) -> None:
    _, listed = await send(host, "/v1/models", {}, "GET")
    assert [model["id"] for model in listed["data"]][:3] == [
        "gpt-4.1-mini",
        "o4-mini",
        "text-embedding-3-small",
    ]
    assert (await send(host, "/v1/models/o4-mini", {}, "GET"))[1]["object"] == "model"
    status, answer = await send(host, CHAT, {**BODY, "model": "gpt-99"})
    assert (status, answer["error"]["code"]) == (404, "model_not_found")
    assert answer["error"]["message"] == "The model `gpt-99` does not exist or you do not have access to it."
    assert (await send(host, CHAT, {**BODY, "model": "text-embedding-3-small"}))[0] == 403
    assert (await send(host, EMBEDDINGS, {"model": "gpt-4.1-mini", "input": "a"}))[0] == 403
    assert (await send(host, EMBEDDINGS, {"model": "gpt-99", "input": "a"}))[0] == 404
