"""/slack/events with a listener of the test behind it: which requests reach it, and how often."""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse

from bot.health import listening
from bot.local_slack.http_delivery import JSON, sign
from bot.slack_http import PATH, REMEMBER_SECONDS, SlackRequests
from tests.free_port import free_port

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


async def authorize() -> AuthorizeResult:
    return AuthorizeResult(
        enterprise_id=None, team_id="T1", bot_user_id="U2", bot_id="B2", bot_token="xoxb-1"
    )


class Heard:
    """An app that hears messages, but cannot write the first `failures` of them down."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.texts: list[str] = []
        self.failures = 0
        app = AsyncApp(authorize=authorize, signing_secret=SECRET)

        @app.middleware
        async def write_down(next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:  # noqa: A002 - Bolt's name
            if self.failures:
                self.failures -= 1
                return BoltResponse(status=503)
            return await next()

        @app.event("message")
        async def message(event: dict[str, str]) -> None:
            self.texts.append(event["text"])

        self.requests = SlackRequests(app)

    async def send(self, text: str, *, at: int, **headers: str) -> int:
        """Somebody says `text`, signed `at` that second; the status of the answer."""
        event = {"type": "message", "text": text, "user": "U1", "channel": "C1", "ts": "1.0"}
        body = json.dumps({"type": "event_callback", "team_id": "T1", "event": event}).encode()
        signed = {"Content-Type": JSON, **sign(SECRET, body, timestamp=at), **headers}
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url, data=body, headers=signed) as response,
        ):
            return response.status


@pytest.fixture
async def heard() -> AsyncIterator[Heard]:
    with free_port() as port:
        heard = Heard(f"http://127.0.0.1:{port}{PATH}")
        async with listening(port, [web.post(PATH, heard.requests.handle)]):
            yield heard


@pytest.mark.parametrize("text", ["approve", "通过", "承認"])
async def test_a_request_that_was_taken_is_not_taken_again_and_a_new_one_is(heard: Heard, text: str) -> None:
    now = int(time.time())
    assert await heard.send(text, at=now) == 200
    assert await heard.send(text, at=now) == 401
    assert await heard.send(text, at=now, **{"X-Slack-Retry-Num": "1"}) == 401
    assert await heard.send(text, at=now + 1) == 200
    assert await heard.send(f"{text}!", at=now) == 200
    assert heard.texts == [text, text, f"{text}!"]


async def test_a_request_that_failed_may_come_again_in_the_same_second(heard: Heard) -> None:
    now = int(time.time())
    heard.failures = 1
    assert await heard.send("承認", at=now) == 503
    assert await heard.send("承認", at=now) == 200
    assert await heard.send("承認", at=now) == 401
    assert heard.texts == ["承認"]


async def test_what_is_too_old_to_be_valid_is_forgotten(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = int(time.time())
    clock = time.monotonic()
    monkeypatch.setattr("bot.slack_http.time.monotonic", lambda: clock)
    for second in range(5):
        assert await heard.send("通过", at=now + second) == 200
    clock += REMEMBER_SECONDS + 1
    assert await heard.send("通过", at=now + 5) == 200
    assert len(heard.requests._taken) == 1
