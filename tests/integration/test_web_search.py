"""Search engines over their own wires: what is sent, what comes back, and what it means when nothing does."""

import contextlib
import json
import logging
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from agents import web_searxng, web_tavily
from agents.web_search import (
    LONGEST_SNIPPET,
    LONGEST_TITLE,
    MOST_RESULTS,
    Trouble,
    WebResult,
    WebSearch,
    WebSearchError,
)
from agents.web_searxng import SearXNG
from agents.web_tavily import Tavily
from tests.web_hosts import KEY, Answer, Engine, Hit, SearxHost, TavilyHost, refused

QUERIES = ["Argon2id memory OWASP", "Argon2id 的内存参数", "Argon2id のメモリ設定"]
HITS = [Hit("https://example.com/argon2", "Argon2", "Memory-hard. 内存。メモリ。")]


@pytest.fixture(params=["tavily", "searxng"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    async with TavilyHost() if request.param == "tavily" else SearxHost() as running:
        yield running


def client(engine: Engine) -> WebSearch:
    return Tavily(KEY, url=engine.url) if isinstance(engine, TavilyHost) else SearXNG(engine.url)


@pytest.mark.parametrize("query", QUERIES)
async def test_a_query_gives_addresses_in_the_order_of_the_engine(engine: Engine, query: str) -> None:
    engine.hits = [Hit("https://example.com/b", "B", "乙"), Hit("http://example.org/a", "A", "甲")]
    assert await client(engine).search(query) == [
        WebResult(url="https://example.com/b", title="B", snippet="乙"),
        WebResult(url="http://example.org/a", title="A", snippet="甲"),
    ]
    assert engine.queries == [query]


async def test_an_instance_may_stand_below_a_path() -> None:
    async with SearxHost() as host:
        host.instead = lambda request: web.json_response({"results": []})
        assert await SearXNG(f"{host.url}/searx/").search("盐") == []
        assert host.requests == ["/searx/search?q=%E7%9B%90&format=json"]


async def test_what_cannot_be_read_or_stands_twice_is_left_out_and_long_texts_are_cut(engine: Engine) -> None:
    engine.hits = [
        Hit("javascript:alert(1)", "x"),
        Hit("file:///etc/passwd", "x"),
        Hit(f"https://example.com/{'a' * 3000}", "x"),
        Hit("https://example.com/1", "题" * 1000, "\n\n one \x00 two " * 500),
        Hit("https://example.com/1", "again"),
        *(Hit(f"https://example.com/{n}", "") for n in range(2, 4 + MOST_RESULTS)),
    ]
    found = await client(engine).search("盐")
    assert [result.url for result in found] == [f"https://example.com/{n}" for n in range(1, len(found) + 1)]
    assert 1 < len(found) <= MOST_RESULTS
    assert len(found[0].title) == LONGEST_TITLE
    assert len(found[0].snippet) == LONGEST_SNIPPET
    assert "\n" not in found[0].snippet
    assert "\x00" not in found[0].snippet


async def test_only_the_query_and_the_key_are_sent_to_tavily() -> None:
    async with TavilyHost() as host:
        assert await Tavily(KEY, url=host.url).search("塩") == []
        assert set(json.loads(host.bodies[0])) == {"query", "max_results", "search_depth", "topic"}
        assert host.headers[0]["Authorization"] == f"Bearer {KEY}"


def says(status: int, text: str = "") -> Answer:
    return lambda request: web.Response(status=status, text=text)


def drops(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


TAVILY_TROUBLE: list[tuple[Answer, Trouble]] = [
    (lambda request: refused(400), "unreadable"),
    (lambda request: refused(401), "refused"),
    (lambda request: refused(429), "busy"),
    (lambda request: refused(432), "refused"),
    (lambda request: refused(433), "refused"),
    (lambda request: refused(500), "away"),
    (says(502, "<html>Bad Gateway</html>"), "away"),
    (says(302), "away"),
    (says(204), "unreadable"),
    (says(200, "<html>"), "unreadable"),
    (says(200, "[]"), "unreadable"),
    (says(200, '{"results": null}'), "unreadable"),
    (says(200, '{"results": [{"url": "https://example.com"}]}'), "unreadable"),
    (says(401, '{"detail": "no"}'), "refused"),
    (drops, "away"),
]
SEARXNG_TROUBLE: list[tuple[Answer, Trouble]] = [
    (says(403), "refused"),
    (says(429, "Too Many Requests"), "busy"),
    (says(500), "away"),
    (says(302), "unreadable"),
    (says(404), "unreadable"),
    (says(200, "<!DOCTYPE html>"), "unreadable"),
    (says(200, '{"results": {}}'), "unreadable"),
    (says(200, '{"results": [{"title": "no address"}]}'), "unreadable"),
    (says(200, "[" * 100_000), "unreadable"),
    (says(200, " " * 3_000_000), "unreadable"),
    (drops, "away"),
]


@pytest.mark.parametrize(("answer", "code"), TAVILY_TROUBLE)
async def test_each_trouble_of_tavily_has_a_code(answer: Answer, code: Trouble) -> None:
    async with TavilyHost() as host:
        host.instead = answer
        await fails(Tavily(KEY, url=host.url), code)


@pytest.mark.parametrize(("answer", "code"), SEARXNG_TROUBLE)
async def test_each_trouble_of_a_searxng_has_a_code(answer: Answer, code: Trouble) -> None:
    async with SearxHost() as host:
        host.instead = answer
        await fails(SearXNG(host.url), code)


async def fails(search: WebSearch, code: Trouble) -> None:
    with pytest.raises(WebSearchError) as failed:
        await search.search("salt")
    assert failed.value.code == code, failed.value
    assert KEY not in str(failed.value)
    assert "\n" not in str(failed.value)


async def test_a_wrong_key_is_refused() -> None:
    async with TavilyHost() as host:
        await fails(Tavily("tvly-wrong", url=host.url), "refused")


async def test_nobody_at_the_address_is_away() -> None:
    async with SearxHost() as host:
        url = host.url
    await fails(SearXNG(url), "away")
    await fails(Tavily(KEY, url=url), "away")


async def test_an_engine_that_says_nothing_is_given_up(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_searxng, "SECONDS", 0.2)
    monkeypatch.setattr(web_tavily, "SECONDS", 0.2)

    engine.silent = True
    await fails(client(engine), "away")


async def test_what_is_wrong_is_said_once_until_it_is_over_or_something_else(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "agents.web_search")
    search = client(engine)

    async def asked(answer: Answer | None) -> list[str]:
        caplog.clear()
        engine.instead = answer
        with contextlib.suppress(WebSearchError):
            await search.search("盐")
        return [record.getMessage() for record in caplog.records if record.name == "agents.web_search"]

    [said] = await asked(says(429))
    assert "too many searches" in said
    assert await asked(says(429)) == []
    [other] = await asked(says(500))
    assert "fails" in other
    [over] = await asked(None)
    assert "works again" in over
    assert await asked(None) == []
    [again] = await asked(says(429))
    assert again == said
