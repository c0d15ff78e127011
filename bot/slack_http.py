"""Slack's requests over HTTP: what may not be Slack's is refused before a listener sees it."""

import asyncio
import logging
import re
import time

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest

from knowledge.counters import requests_refused

log = logging.getLogger(__name__)

PATH = "/slack/events"

# A click carries the message that it was made on, percent-encoded: some 60 kB where it is longest.
LARGEST_BODY = 1024 * 1024
# Slack itself gives up after 3 s.
READ_SECONDS = 3.0
# A signature is good for 5 minutes, and clocks may be 5 minutes apart (Bolt's rule, which is Slack's).
REMEMBER_SECONDS = 600.0
# A wrong secret has a line in the log, and a flood of forgeries has not one each.
TELL_EVERY_SECONDS = 60.0


class SlackRequests:
    """`/slack/events`: everything that Slack sends to an app without Socket Mode, for one `AsyncApp`.

    The signature is checked by Bolt. It does so after parsing, trips over a timestamp that is no number, and
    takes the same request twice: what is around it here is for that.
    """

    def __init__(self, app: AsyncApp) -> None:
        """`app` has the signing secret."""
        self._app = app
        # Bolt repeats the whole body of a request whose signature is wrong, at INFO.
        logging.getLogger("slack_bolt.RequestVerification").setLevel(logging.WARNING)
        self._taken: dict[tuple[str, str], float] = {}  # signed requests, and until when they are remembered
        self._told = -TELL_EVERY_SECONDS

    async def handle(self, request: web.Request) -> web.Response:
        """200 and what a listener answers, 401 for a bad or used signature, 400, 408, 413 or 415 for a body
        that is not one of Slack's. What is no 2xx Slack sends again, if it was Slack's.
        """
        if (request.content_length or 0) > LARGEST_BODY:
            return self._refuse(413, "too long")
        if "Content-Encoding" in request.headers:  # Slack packs nothing, and a bomb may be small
            return self._refuse(415, "packed")
        signed = (
            request.headers.get("X-Slack-Request-Timestamp", ""),
            request.headers.get("X-Slack-Signature", ""),
        )
        if not re.fullmatch("[0-9]{0,12}", signed[0], re.ASCII) or not signed[1].isascii():
            return self._refuse(401, "signature")
        try:
            async with asyncio.timeout(READ_SECONDS):
                body = (await request.read()).decode()  # the server's own limit stops it, see `listening`
            asked = AsyncBoltRequest(body=body, query=request.query_string, headers=dict(request.headers))
        except web.HTTPRequestEntityTooLarge:
            return self._refuse(413, "too long")
        except TimeoutError:
            return self._refuse(408, "too slow")
        except (ValueError, TypeError, AttributeError, RecursionError):  # no text, no JSON, JSON of no object
            return self._refuse(400, "not readable")
        if not self._take(signed):
            return self._refuse(401, "used before")
        try:
            answer = await self._app.async_dispatch(asked)
        except BaseException:
            self._taken.pop(signed, None)
            raise
        if answer.status != 200 or asked.body.get("ssl_check"):
            # Bolt answers `ssl_check` unsigned. What failed was not taken, so that Slack's own next try,
            # which may come in the same second, is no replay.
            self._taken.pop(signed, None)
        if answer.status == 401:
            return self._refuse(401, "signature")
        return await to_aiohttp_response(answer)

    def _take(self, signed: tuple[str, str]) -> bool:
        """Whether this is the first time; what has grown too old to be valid is forgotten."""
        now = time.monotonic()
        while self._taken and (oldest := next(iter(self._taken))) and self._taken[oldest] < now:
            del self._taken[oldest]
        if signed in self._taken:
            return False
        self._taken[signed] = now + REMEMBER_SECONDS
        return True

    def _refuse(self, status: int, reason: str) -> web.Response:
        """Nothing of the request is repeated, in the answer or in the log."""
        requests_refused.add(1, {"reason": reason})
        if (now := time.monotonic()) - self._told >= TELL_EVERY_SECONDS:
            self._told = now
            hint = ": is SLACK_SIGNING_SECRET the one of this app?" if reason == "signature" else ""
            log.warning("a request to %s was refused (%s)%s", PATH, reason, hint)
        response = web.json_response({"error": "invalid request"}, status=status)
        if status in (408, 413):
            response.force_close()  # the rest of the body is not waited for
        return response
