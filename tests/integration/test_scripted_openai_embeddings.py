"""The scripted OpenAI host's embeddings: vectors in which search means something, limits, and failures."""

import math
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.scripted_openai.replies import Drop, Failure, Text
from tests.scripted_openai.server import ScriptedOpenAI
from tests.scripted_openai.tokens import count_tokens

MODEL = "text-embedding-3-small"


@pytest.fixture
async def host() -> AsyncIterator[ScriptedOpenAI]:
    """A host with its own embedding models."""
    async with ScriptedOpenAI(lambda _: Text("ok")) as running:
        yield running


@pytest.fixture
async def client(host: ScriptedOpenAI) -> AsyncIterator[AsyncOpenAI]:
    """A client that does not try again."""
    async with AsyncOpenAI(base_url=host.base_url, api_key=host.api_key, max_retries=0, timeout=20) as made:
        yield made


def cosine(one: list[float], other: list[float]) -> float:
    """How near two vectors are."""
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        (
            "How long must passwords be?",
            "A password is at least 12 characters long.",
            "The canteen opens at noon.",
        ),
        ("密码多久更换一次", "密码至少每九十天更换一次。", "食堂中午十二点开门。"),
        ("パスワードの長さは", "パスワードは十二文字以上の長さにします。", "食堂は正午に開きます。"),
    ],
)
@pytest.mark.parametrize("dimensions", [None, 256])
async def test_texts_that_share_words_are_near(
    client: AsyncOpenAI, query: str, near: str, far: str, dimensions: int | None
) -> None:
    answer = await client.embeddings.create(
        model=MODEL,
        input=[query, near, far],
        dimensions=openai.omit if dimensions is None else dimensions,
        encoding_format="float",
    )
    vectors = [one.embedding for one in answer.data]
    assert {len(vector) for vector in vectors} == {dimensions or 1536}
    assert all(math.isclose(cosine(vector, vector), 1, abs_tol=1e-5) for vector in vectors)
    assert cosine(vectors[0], vectors[1]) > cosine(vectors[0], vectors[2]) + 0.1
    assert answer.usage.prompt_tokens == sum(count_tokens(text) for text in (query, near, far))


@pytest.mark.parametrize("text", ["Hello", "你好，世界", "こんにちは", "!?", " ", "🚢"])
async def test_both_encodings_bring_the_same_vector_each_time(client: AsyncOpenAI, text: str) -> None:
    plain = await client.embeddings.create(model=MODEL, input=text, encoding_format="float")
    encoded = await client.embeddings.create(model=MODEL, input=text)  # the package asks for base64
    assert plain.data[0].embedding == encoded.data[0].embedding
    assert math.isclose(cosine(plain.data[0].embedding, plain.data[0].embedding), 1, abs_tol=1e-5)


async def test_token_numbers_are_inputs_too(host: ScriptedOpenAI, client: AsyncOpenAI) -> None:
    one = await client.embeddings.create(model=MODEL, input=[9906, 1917])
    two = await client.embeddings.create(model="text-embedding-3-large", input=[[9906, 1917], [1]])
    assert (len(one.data), one.usage.prompt_tokens) == (1, 2)
    assert [len(item.embedding) for item in two.data] == [3072, 3072]
    assert [request.inputs for request in host.embedding_requests] == [("9906 1917",), ("9906 1917", "1")]


INVALID = "'$.input' is invalid"
REFUSED: list[tuple[dict[str, Any], str | None, str]] = [
    ({"input": ""}, None, INVALID),
    ({"input": []}, None, INVALID),
    ({"input": ["ok", ""]}, None, INVALID),
    ({"input": ["密"] * 2049}, None, INVALID),
    ({"input": ["ok", 1]}, None, INVALID),
    (
        {"input": {"text": "鍵"}},
        "invalid_type",
        "expected one of a string or array of strings, but got an object",
    ),
    (
        {"input": "文" * 20_000},
        None,
        "maximum context length is 8192 tokens, however you requested 14400 tokens",
    ),
    ({"input": ["文" * 10_000] * 42}, "max_tokens_per_request", "Requested 302400 tokens, max 300000 tokens"),
    (
        {"input": "ok", "dimensions": 0},
        "integer_below_min_value",
        "Expected a value >= 1, but got 0 instead.",
    ),
    ({"input": "ok", "dimensions": 1537}, None, "'dimensions' = 1537. Must be less than or equal to 1536."),
    (
        {"input": "ok", "encoding_format": "int8"},
        "invalid_value",
        "Supported values are: 'float' and 'base64'.",
    ),
    ({"input": "ok", "input_type": "query"}, None, "Unrecognized request argument supplied: input_type"),
    ({}, "missing_required_parameter", "Missing required parameter: 'input'."),
    (
        {"input": "ok", "model": "text-embedding-ada-002", "dimensions": 8},
        None,
        "This model does not support specifying dimensions.",
    ),
]


@pytest.mark.parametrize(("changes", "code", "message"), REFUSED)
async def test_an_embedding_request_is_refused_in_openais_words(
    host: ScriptedOpenAI, client: AsyncOpenAI, changes: dict[str, Any], code: str | None, message: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.post("/embeddings", body={"model": MODEL, **changes}, cast_to=object)
    assert caught.value.code == code
    assert message in str(caught.value)
    assert host.embedding_requests == []
    assert [refused.path for refused in host.refusals] == ["/v1/embeddings"]


async def test_embeddings_fail_as_often_as_asked(host: ScriptedOpenAI, client: AsyncOpenAI) -> None:
    host.fail_embeddings(Failure.overloaded(), times=2)
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            await client.embeddings.create(model=MODEL, input="a")
    await client.embeddings.create(model=MODEL, input="a")
    host.fail_embeddings(Drop(), times=math.inf)
    for _ in range(2):
        with pytest.raises(openai.APIConnectionError):
            await client.embeddings.create(model=MODEL, input="a")
    host.fail_embeddings(Drop(), times=0)
    await client.embeddings.create(model=MODEL, input="a")
    assert [request.failed for request in host.embedding_requests] == [503, 503, None, 0, 0, None]
