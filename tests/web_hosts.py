"""A small web on 127.0.0.1: two search engines that speak their own wires, and a site they lead to."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

KEY = "tvly-dev-0123456789abcdef"


@dataclass(frozen=True)
class Hit:
    """One result of a search."""

    url: str
    title: str
    snippet: str = ""


Answer = Callable[[web.Request], web.StreamResponse]


@dataclass
class LocalHost:
    """A server. `instead` answers in its place, until it is None; while `silent` nobody gets an answer."""

    requests: list[str] = field(default_factory=list)  # paths and queries, in order
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    instead: Answer | None = None
    silent: bool = False
    _runner: web.AppRunner | None = None
    url: str = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request.path_qs)
        self.bodies.append(await request.read())
        self.headers.append(request.headers)
        if self.silent:
            await asyncio.Event().wait()
        return self.instead(request) if self.instead is not None else await self.answer(request)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        raise NotImplementedError


@dataclass
class Engine(LocalHost):
    """A search engine; `queries` are what it was asked, `hits` what it finds."""

    hits: Sequence[Hit] = ()
    queries: list[str] = field(default_factory=list)


# From https://docs.tavily.com/documentation/api-reference/endpoint/search: the fields of a request.
_TAVILY_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    **{"query": str, "search_depth": str, "topic": str, "time_range": str, "max_results": int},
    **{"include_answer": (bool, str), "include_raw_content": (bool, str), "include_images": bool},
    **{"include_domains": list, "exclude_domains": list, "country": str, "auto_parameters": bool},
}
TAVILY_REFUSALS = {
    400: "Query is too long. Max query length is 400 characters.",
    401: "Unauthorized: missing or invalid API key.",
    429: "Your request has been blocked due to excessive requests. Please reduce the rate of requests.",
    432: "This request exceeds your plan's set usage limit. Please upgrade your plan.",
    433: "This request exceeds the pay-as-you-go limit.",
    500: "Internal Server Error",
}


class TavilyHost(Engine):
    """POST /search, as Tavily's pages describe it."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if (request.method, request.path) != ("POST", "/search"):
            return web.json_response({"detail": "Not Found"}, status=404)
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return refused(401)
        body: dict[str, Any] = json.loads(await request.read())
        for name, value in body.items():
            if not isinstance(value, _TAVILY_FIELDS[name]):
                return refused(400)
        if not 1 <= len(body["query"]) <= 400 or not 0 <= body.get("max_results", 5) <= 20:
            return refused(400)
        self.queries.append(body["query"])
        found = [
            {
                "title": hit.title,
                "url": hit.url,
                "content": hit.snippet,
                "score": 0.9 - place / 100,
                "raw_content": None,
            }
            for place, hit in enumerate(self.hits[: body.get("max_results", 5)])
        ]
        return web.json_response(
            {
                "query": body["query"],
                "answer": None,
                "follow_up_questions": None,
                "images": [],
                "results": found,
                "response_time": 1.67,
                "request_id": "123e4567-e89b-12d3-a456-426614174111",
            }
        )


def refused(status: int) -> web.Response:
    """As Tavily refuses."""
    return web.json_response({"detail": {"error": TAVILY_REFUSALS[status]}}, status=status)


class SearxHost(Engine):
    """GET /search?format=json, as SearXNG's pages and its own `webutils.get_json_response` have it."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path != "/search" or request.query.get("format") != "json":
            return web.Response(text="<!DOCTYPE html>", content_type="text/html")
        query = request.query["q"]
        self.queries.append(query)
        found = [
            {
                "url": hit.url,
                "title": hit.title,
                "content": hit.snippet,
                "engine": "startpage",
                "parsed_url": ["https", "example.com", "/", "", "", ""],
                "template": "default.html",
                "engines": ["startpage"],
                "positions": [place],
                "score": 1 / place,
                "category": "general",
            }
            for place, hit in enumerate(self.hits, start=1)
        ]
        return web.json_response(
            {
                "query": query,
                "number_of_results": 0,
                "results": found,
                **{"answers": [], "corrections": [], "infoboxes": [], "suggestions": []},
                "unresponsive_engines": [],
            }
        )


@dataclass
class Site(LocalHost):
    """Pages by their path: Markdown or HTML, by how they begin."""

    pages: dict[str, str] = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404, text="not here")
        kind = "text/html" if page.lstrip().startswith("<") else "text/markdown"
        return web.Response(text=page, content_type=kind, charset="utf-8")
