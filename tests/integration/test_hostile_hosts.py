"""Hosts that send what no host should: too much, too slowly, or broken. On every wire."""

import asyncio
import copy
import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models import override_allow_model_requests

from agents.account import Account
from agents.call import ask
from agents.desk import Desk
from agents.errors import AgentError
from agents.models import models_from
from agents.patience import Patience
from agents.transport import LONGEST_BODY
from tests.integration.raw_host import Answer, RawHost, body, head, just, raw_host, without_end
from tests.integration.wires import CALLS, CHAT, WIRES, Wire
from tests.unit.password_article import desk_with

SOON = Patience(first_wait=0.001)
KEY = "sk-test-0123456789"
CHUNKED = "Transfer-Encoding: chunked"
OPEN_HEAD = head()[:-2]
MIB = 2**20

answering = Agent(None, output_type=str)


each_wire = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
# What the libraries warn of where an answer is odd.
odd_answers = pytest.mark.filterwarnings(
    "ignore:Failed to (extract usage|get cost)",
    "ignore:Pydantic serializer warnings",
    "ignore:.* is not a valid FinishReason",
)


@pytest.fixture(autouse=True)
def _requests_to_this_machine() -> Iterator[None]:
    with override_allow_model_requests(True):
        yield


@asynccontextmanager
async def host_and_desk(
    wire: Wire, answer: Answer, monkeypatch: pytest.MonkeyPatch, patience: Patience = SOON
) -> AsyncIterator[tuple[RawHost, Desk]]:
    async with raw_host(answer) as host:
        setting = "GOOGLE_GEMINI" if wire.provider == "GOOGLE" else wire.provider
        monkeypatch.setenv(f"{setting}_BASE_URL", f"http://127.0.0.1:{host.port}{wire.path}")
        monkeypatch.setenv(f"{wire.provider}_API_KEY", KEY)
        models = models_from(wire.model, patience=patience)
        async with models.connected(), asyncio.timeout(60):
            yield host, replace(desk_with(models.research), models=models)


async def asked(desk: Desk) -> str:
    return await ask(
        answering, "为什么 MD5 不安全？", model=desk.models.research, deps=None, desk=desk, step="test"
    )


async def refused(desk: Desk) -> AgentError:
    with pytest.raises(AgentError) as failed:
        await asked(desk)
    assert KEY not in str(failed.value) + str(failed.value.facts)
    return failed.value


def with_text(wire: Wire, text: str) -> bytes:
    answer = json.dumps(wire.answer).replace('"TEXT"', json.dumps(text, ensure_ascii=False))
    return answer.encode()


ENDLESS = without_end(head(CHUNKED), b"10000\r\n" + b" " * 2**16 + b"\r\n")


@each_wire
async def test_an_answer_without_end_is_read_up_to_a_bound(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_and_desk(wire, ENDLESS, monkeypatch) as (host, desk):
        error = await refused(desk)
    assert error.code == "not_a_model_host"
    assert "with more than any answer of a model is" in str(error)
    assert len(host.requests) == 1
    assert host.taken < 2 * LONGEST_BODY  # with what the sockets hold


@pytest.mark.parametrize(
    "answer",
    [
        without_end(head("Content-Length: 500000000"), b'"' * 2**16),
        without_end(head(CHUNKED, status="400 Bad Request"), b"10000\r\n" + b"<" * 2**16 + b"\r\n"),
        without_end(head("Content-Type: text/event-stream"), b"data: {}\n\n" * 1000),
        without_end(head("Connection: close"), b'{"x":' * 1000),
    ],
    ids=["half a gigabyte", "with an error", "as events", "until it closes"],
)
async def test_too_much_is_too_much_in_every_form(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    async with host_and_desk(CHAT, answer, monkeypatch) as (host, desk):
        assert (await refused(desk)).code == "not_a_model_host"
    assert host.taken < 2 * LONGEST_BODY


async def test_the_bound_holds_on_connections_that_are_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with host_and_desk(CHAT, ENDLESS, monkeypatch) as (host, desk):
        models = models_from(CHAT.model, patience=SOON)
        for _ in range(2):
            async with models.connected():
                assert (await refused(replace(desk, models=models))).code == "not_a_model_host"
    assert host.taken < 4 * LONGEST_BODY


@each_wire
@pytest.mark.parametrize("layers", [1, 2])
async def test_a_small_answer_that_unpacks_to_a_large_one_is_unpacked_up_to_the_bound(
    layers: int, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = bomb(layers)
    assert len(packed) < MIB
    answer = body(packed, f"Content-Encoding: {', '.join(['gzip'] * layers)}")
    async with host_and_desk(wire, body(with_text(wire, "好")), monkeypatch) as (host, desk):
        await asked(desk)  # so that all is imported
        host.answer = answer
        tracemalloc.start()
        try:
            error = await refused(desk)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert "with more than any answer of a model is" in str(error)
    assert peak < 3 * LONGEST_BODY


@cache
def bomb(layers: int) -> bytes:
    """Packed so many times; unpacked it is six times as large as an answer may be."""
    data = b" " * (6 * LONGEST_BODY)
    for _ in range(layers):
        data = gzip.compress(data, compresslevel=1)
    return data


@each_wire
@pytest.mark.parametrize("packed", [False, True])
async def test_an_answer_of_two_megabytes_is_an_answer(
    packed: bool, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Argon2id 比 MD5 慢，これは意図的である。" * 40_000
    data = with_text(wire, text)
    assert len(data) > 2 * MIB
    answer = body(gzip.compress(data), "Content-Encoding: gzip") if packed else body(data)
    async with host_and_desk(wire, answer, monkeypatch) as (host, desk):
        assert await asked(desk) == text
    assert len(host.requests) == 1


@each_wire
async def test_no_redirect_is_followed_and_no_key_leaves_for_another_host(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_host(body(b"{}")) as other:
        for place in ("/v1/chat/completions", f"http://localhost:{other.port}/v1", "http://[::1"):
            for status in ("302 Found", "307 Temporary", "308 Permanent"):
                answer = body(b"", f"Location: {place}", status=status)
                async with host_and_desk(wire, answer, monkeypatch) as (host, desk):
                    assert (await refused(desk)).code == "not_a_model_host"
                assert len(host.requests) == 1
    assert other.requests == []


@each_wire
@pytest.mark.parametrize(
    ("answer", "code", "asks"),
    [
        (just(head("Content-Length: 5000") + b"{}"), "model_unreachable", 4),
        (just(head("Content-Length: 5") + b'{"choices": []}'), "not_a_model_host", 1),
        (just(head("Content-Length: -5") + b"{}"), "model_unreachable", 4),
        (just(head("Content-Length: 2", "Content-Length: 3") + b"{}"), "model_unreachable", 4),
        (just(b""), "model_unreachable", 4),
        (just(b"\x00\x01SSH-2.0\r\n\r\n"), "model_unreachable", 4),
        (without_end(OPEN_HEAD + b"X: ", b"a" * 2**16), "model_unreachable", 4),
        (without_end(head(CHUNKED) + b"1;", b"a" * 2**16), "model_unreachable", 4),
        (body(b"not gzip", "Content-Encoding: gzip"), "not_a_model_host", 1),
        (body(b"{}", "Content-Encoding: " + ", ".join(["gzip"] * 9)), "not_a_model_host", 1),
        (body(b'data: {"choices": []}\n\n', "Content-Type: text/event-stream"), "not_a_model_host", 1),
        (body(b"\xff\xfe{"), "not_a_model_host", 1),
        (body(b"", status="204 No Content"), "not_a_model_host", 1),
        (body(b"[" * 100_000), "not_a_model_host", 1),
        (body(b"9" * 10_000), "not_a_model_host", 1),
        (body(b"{}", status="999 Huh"), "model_busy", 4),
    ],
    ids=[
        *("promises more", "promises less", "promises a negative length", "promises two lengths"),
        *("nothing", "no HTTP", "a header without end", "a chunk's head without end"),
        *("not packed", "packed nine times", "events", "no UTF-8", "no content"),
        *("brackets without end", "a number without end", "no such status"),
    ],
)
async def test_a_broken_answer_is_said_or_asked_for_again(
    answer: Answer, code: str, asks: int, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_and_desk(wire, answer, monkeypatch) as (host, desk):
        error = await refused(desk)
    assert (error.code, len(host.requests)) == (code, asks)
    assert desk.account.requests == 0


@each_wire
@pytest.mark.parametrize(
    "answer",
    [
        without_end(head(CHUNKED), b"1\r\n \r\n", pause=0.02),
        without_end(OPEN_HEAD, b"x", pause=0.02),
        without_end(b"", b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.02),
    ],
    ids=["a body", "a head", "go on"],
)
async def test_a_host_that_trickles_is_left_in_time(
    answer: Answer, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_and_desk(wire, answer, monkeypatch, Patience(total=0.2)) as (host, desk):
        assert (await refused(desk)).code == "model_timeout"
    assert len(host.requests) == 1


ODD = ["null", "[]", "{}", "[null]", "[{}]", '"\\ud800"', "-1", "NaN", "9" * 23, "[" * 2000 + "]" * 2000]


@each_wire
@odd_answers
async def test_whatever_stands_at_any_place_of_an_answer_nothing_but_an_agents_error_comes_of_it(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the account stays one that can be kept and counted on with."""
    whole = [(wire.answer, place) for place in places(wire.answer)]
    if wire is CHAT:
        with_calls = {**wire.answer, "choices": [CALLS]}
        whole += [(with_calls, ("choices", 0, *place)) for place in places(CALLS)]
    async with host_and_desk(wire, body(b""), monkeypatch) as (host, desk):
        # Every other value at each place, every other place with each value.
        for answer_at, odd_at in product(range(len(whole)), range(len(ODD))):
            if (answer_at + odd_at) % 2:
                continue
            (answer, place), odd = whole[answer_at], ODD[odd_at]
            host.answer = body(json.dumps(put(answer, place, "ODD")).replace('"ODD"', odd).encode())
            host.requests.clear()
            fresh = replace(desk, account=Account())
            with suppress(AgentError):
                await asked(fresh)
            where = f"{odd[:30]} at {place}"
            assert len(host.requests) <= 8, where  # it is asked for once more, each with its tries
            kept = json.loads(json.dumps(fresh.account.as_json(), allow_nan=False))
            for name in ("input_tokens", "output_tokens"):
                assert type(kept[name]) is int, where
                assert 0 <= kept[name] <= 20_000_000, where
            assert 0 <= (kept["priced_usd"] or 0) < 1000, where


def places(node: Any, here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The ways to all values of a JSON, itself included."""
    yield here
    for key, value in node.items() if isinstance(node, dict) else enumerate(node or ()):
        if isinstance(value, dict | list):
            yield from places(value, (*here, key))
        else:
            yield (*here, key)


def put(node: Any, place: tuple[str | int, ...], value: str) -> Any:
    """A copy with another value at a place."""
    if not place:
        return value
    changed = copy.deepcopy(node)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


@each_wire
@pytest.mark.parametrize("tokens", ["-5", "99999999999999999999999", '"many"', "NaN", "null"])
@odd_answers
async def test_a_usage_that_cannot_be_true_counts_as_none_and_is_estimated(
    tokens: str, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = copy.deepcopy(wire.answer)
    usage = answer["usageMetadata" if "usageMetadata" in answer else "usage"]
    usage.update({name: "TOKENS" for name in usage if not name.endswith("details")})
    data = json.dumps(answer).replace('"TEXT"', '"因为它太快。"').replace('"TOKENS"', tokens)
    async with host_and_desk(wire, body(data.encode()), monkeypatch) as (_, desk):
        try:
            said = await asked(desk)
        except AgentError:  # the library would not have it
            assert desk.account.requests == 0
            return
    assert said == "因为它太快。"
    assert desk.account.estimated_requests == 1
    assert 0 < desk.account.input_tokens < 100
    assert 0 < desk.account.output_tokens < 100
