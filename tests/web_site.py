"""A web site of this machine for a test: pages that answer as the test says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import web

from knowledge.fetch import FetchLimits

Answer = web.Response | Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

HOST = "127.0.0.1"
ALLOWED = FetchLimits(private_hosts=frozenset({HOST}), seconds=10.0)


@dataclass
class Site:
    """What it answers by path, and what it was asked."""

    port: int = 0
    answers: dict[str, str | bytes | int | Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def url(self, path: str, *, host: str = HOST) -> str:
        return f"http://{host}:{self.port}{path}"

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        answer = self.answers.get(request.path_qs, self.answers.get(request.path, 404))
        if isinstance(answer, int):
            return web.Response(status=answer)
        if isinstance(answer, str):
            return page(answer)
        if isinstance(answer, bytes):
            return web.Response(body=answer, content_type="application/octet-stream")
        if isinstance(answer, web.Response):
            return web.Response(body=answer.body, status=answer.status, headers=answer.headers)
        return await answer(request)


def page(html: str, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """A page in UTF-8."""
    kind = {"Content-Type": "text/html; charset=utf-8"}
    return web.Response(body=html.encode(), status=status, headers={**kind, **(headers or {})})


def redirect(target: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": target})


@asynccontextmanager
async def web_site() -> AsyncIterator[Site]:
    """A site on loopback, until the end."""
    site = Site()
    server = web.Server(site.answer)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    tcp = web.TCPSite(runner, HOST, 0)
    await tcp.start()
    [address] = runner.addresses
    site.port = address[1]
    try:
        yield site
    finally:
        with suppress(asyncio.CancelledError):
            await runner.cleanup()
