"""What answers at Slack's address without being Slack: a proxy's page, a login, half an answer."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from bot.slack import NotNow, SlackChannel, slack_client


@asynccontextmanager
async def answering(status: int, content_type: str, body: str) -> AsyncIterator[SlackChannel]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body, content_type=content_type)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield SlackChannel(slack_client("xoxb-1", base_url=f"http://{host}:{port}/api/"))
    finally:
        await runner.cleanup()


CALLS: dict[str, Callable[[SlackChannel], Awaitable[object]]] = {
    "who": lambda slack: slack.whoami(),
    "scopes": lambda slack: slack.granted_scopes(),
    "channel": lambda slack: slack.why_not_post("C1"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("status", "content_type", "body"),
    [
        (200, "text/html", "<html>Please log in</html>"),
        (404, "text/html", "<html>请登录</html>"),
        (403, "text/plain", "プロキシに拒否されました"),
        (200, "text/plain", "ok"),
        (200, "application/json", '{"ok": tr'),
        (200, "application/json", "[]"),
        (200, "application/json", "{}"),
        (200, "application/json", ""),
    ],
)
async def test_an_answer_that_is_not_slacks_is_no_refusal(
    call: Callable[[SlackChannel], Awaitable[object]], status: int, content_type: str, body: str
) -> None:
    async with answering(status, content_type, body) as slack:
        with pytest.raises(NotNow, match="what answers is not Slack's API") as caught:
            await call(slack)
    assert caught.value.ambiguous
