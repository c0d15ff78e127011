"""A web site on this machine, and a bot that may read it although its address is private."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from aiohttp import web

from knowledge.documents import Documents
from knowledge.fetch import FetchLimits
from tests.e2e.desk import Desk

PAGES = {
    "en": ("Salts", "A salt is unique for each password, so that equal passwords have different hashes."),
    "zh": ("密码盐", "每个密码都有唯一的盐，因此相同的密码会有不同的哈希值。"),
    "ja": ("ソルト", "ソルトはパスワードごとに異なるため、同じパスワードでもハッシュ値は異なる。"),
}


def page(title: str, text: str) -> str:
    """A page as sites have them, with its text between what is none."""
    return (
        f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>{title}</title></head><body>"
        f"<nav><a href='/'>Home</a></nav><main><article><h1>{title}</h1><p>{text}</p></article></main>"
        "<footer>Imprint</footer></body></html>"
    )


@dataclass
class Site:
    """`pages` by path: HTML, or a status in place of a page."""

    url: str
    pages: dict[str, str | int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)  # paths, in order
    gate: asyncio.Event | None = None  # nothing is answered before it is set

    def put(self, path: str, title: str, text: str) -> str:
        """A page at a path; its address."""
        self.pages[path] = page(title, text)
        return f"{self.url}{path}"

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if self.gate is not None:
            await self.gate.wait()
        found = self.pages.get(request.path, 404)
        if isinstance(found, int):
            return web.Response(status=found)
        return web.Response(text=found, content_type="text/html")


@asynccontextmanager
async def site_for(desk: Desk) -> AsyncIterator[Site]:
    """The site, and `desk`'s bot allowed to read it; before the bot is started."""
    limits = FetchLimits(private_hosts=frozenset({"127.0.0.1"}), seconds=10)
    desk.knowledge = replace(desk.knowledge, documents=Documents(desk.knowledge.pool, limits=limits))
    site = Site("")
    app = web.Application()
    app.router.add_get("/{path:.*}", site._answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        site.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield site
    finally:
        await runner.cleanup()
