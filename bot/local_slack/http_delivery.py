"""Slack's requests over HTTP, for an app without Socket Mode: signed, and acknowledged by a 200 in time.

    delivery = HttpDelivery(slack, "http://127.0.0.1:3000/slack/events", signing_secret)
    await delivery.verify_url()             # what Slack does when the address is typed into its settings
    await ana.command(articles, "/article", "Why Argon2id?")
    await delivery.close()

After Slack's pages "Verifying requests from Slack", "Using the Events API over HTTP" and "Slash commands".
"""

import asyncio
import hashlib
import hmac
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp

from bot.local_slack.server import LocalSlack
from bot.local_slack.socket_mode import Ack, AckFailure, SocketMode
from bot.local_slack.workspace import Json

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Signed:
    """A request as it goes over the wire; sent once more, it is a replay."""

    headers: dict[str, str]
    body: bytes


def sign(secret: str, body: bytes, *, timestamp: int) -> dict[str, str]:
    """The two headers by which an app knows that a request is Slack's."""
    signed = b"v0:%d:%s" % (timestamp, body)
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(timestamp), "X-Slack-Signature": f"v0={digest}"}


class HttpDelivery(SocketMode):
    """Takes the place of a Slack's Socket Mode: from now on everything goes to `url`."""

    def __init__(self, slack: LocalSlack, url: str, signing_secret: str) -> None:
        before = slack.parts.socket
        super().__init__(before.workspace, before.app, before.ack_seconds)
        # The same lists: who looks on sees what became of payloads, whichever way they went.
        self.ack_times, self.ack_failures = before.ack_times, before.ack_failures
        self.complaints = before.complaints
        self.url, self.secret = url, signing_secret
        self.requests: list[Signed] = []
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self.ack_seconds))
        slack.parts.socket = slack.parts.events.socket = self

    async def verify_url(self) -> bool:
        """Whether the app answers a challenge with it."""
        challenge = {
            "token": self.app.verification_token,
            "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P",
            "type": "url_verification",
        }
        status, answered_in, body = await self.post(self._signed(JSON, json.dumps(challenge).encode()))
        said = json.loads(body) if answered_in == JSON else {"challenge": body}
        return status == 200 and said == {"challenge": challenge["challenge"]}

    async def send(
        self, kind: str, payload: Json, *, accepts_payload: bool = False, retry: tuple[int, str] | None = None
    ) -> Ack | None:
        """One request; None when it was not answered by 200 in time, after which events are sent again."""
        match kind:
            case "events_api":
                content_type, body = JSON, json.dumps(payload).encode()
            case "slash_commands":
                content_type, body = FORM, urlencode(payload).encode()
            case _:
                content_type, body = FORM, urlencode({"payload": json.dumps(payload)}).encode()
        signed = self._signed(content_type, body, later=retry[0] if retry else 0)
        if retry is not None:
            again = {"X-Slack-Retry-Num": str(retry[0]), "X-Slack-Retry-Reason": f"http_{retry[1]}"}
            signed = Signed(signed.headers | again, body)
        begun = asyncio.get_running_loop().time()
        failed = None
        try:
            status, answered_in, answer = await self.post(signed)
            failed = None if status == 200 else f"http_{status}"
        except TimeoutError:
            failed = "timeout"
        except aiohttp.ClientError:
            failed = "no_connection"
        if failed is not None:
            self._failed(AckFailure(kind, payload, failed))
            return None
        seconds = asyncio.get_running_loop().time() - begun
        ack = Ack(kind, seconds, self._said(kind, answered_in, answer, accepts_payload=accepts_payload))
        self.ack_times.append(ack)
        self.workspace.changed()
        return ack

    async def post(self, signed: Signed) -> tuple[int, str, str]:
        """Status, content type and body of the app's answer; raises what aiohttp raises."""
        self.requests.append(signed)
        async with self._session.post(self.url, data=signed.body, headers=signed.headers) as response:
            return response.status, response.content_type, await response.text()

    async def close(self) -> None:
        await super().close()
        await self._session.close()

    def _signed(self, content_type: str, body: bytes, *, later: int = 0) -> Signed:
        """`later` seconds: a test does not wait until Slack would send it again, but it is signed anew."""
        headers = {
            "Content-Type": content_type,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            **sign(self.secret, body, timestamp=int(time.time()) + later),
        }
        return Signed(headers, body)

    def _said(self, kind: str, content_type: str, answer: str, *, accepts_payload: bool) -> Json | None:
        if not answer:
            return None
        said: Any = None
        if content_type == JSON:
            with suppress(ValueError):
                said = json.loads(answer)
        elif kind == "slash_commands" and content_type == "text/plain":
            said = {"text": answer}
        if not (accepts_payload and isinstance(said, dict)):
            self.complaints.append(f"An answer to {kind} that Slack drops ({content_type}): {answer[:200]}")
            return None
        return said
