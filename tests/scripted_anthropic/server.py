"""A host that speaks Anthropic's messages on 127.0.0.1, whose model is a script.

    async with ScriptedAnthropic(lambda request: Text("Hello.")) as host:
        client = AsyncAnthropic(base_url=host.base_url, api_key=host.api_key)

The script, the record and what a script is held to are those of tests/scripted_openai.
"""

import json
import math
import secrets
from collections.abc import Sequence
from itertools import count
from typing import Any

from aiohttp import web

from tests.scripted_anthropic import errors
from tests.scripted_anthropic.message import made_up, message
from tests.scripted_anthropic.parse import parse_message_request
from tests.scripted_anthropic.rules import check_rules
from tests.scripted_anthropic.shape import read_request
from tests.scripted_anthropic.stream import stream
from tests.scripted_openai.billing import tokens_of
from tests.scripted_openai.host import Answer, Handler, ScriptedHost
from tests.scripted_openai.plausible import read_json
from tests.scripted_openai.replies import Failure, Kind, ModelReply
from tests.scripted_openai.wire import headers_of

MODELS = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5")
CONTEXT_WINDOW = 1_000_000
VERSIONS = ("2023-06-01", "2026-10-21")
RATE_LIMITED = (
    "This request would exceed the rate limit for your organization (00000000-0000-4000-8000-000000000000) "
    "of 30,000 input tokens per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits. "
    "You can see the response headers for current usage. Please reduce the prompt length or the maximum "
    "tokens requested, or try again later. You may also contact sales at "
    "https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase."
)
# Status and message of each kind of failure. A lack of money is a bad request here.
SAID: dict[Kind, tuple[int, str]] = {
    "rate_limited": (429, RATE_LIMITED),
    "no_quota": (
        400,
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade "
        "or purchase credits.",
    ),
    "server_error": (500, "Internal server error"),
    "overloaded": (529, "Overloaded"),
    "wrong_key": (401, "invalid x-api-key"),
}


class ScriptedAnthropic(ScriptedHost):
    """The host, as long as the `async with` lasts."""

    def __init__(
        self,
        answer: Answer,
        *,
        port: int = 0,
        keys: Sequence[str] | None = None,
        models: Sequence[str] = MODELS,
        context_window: int = CONTEXT_WINDOW,
    ) -> None:
        """`port=0` takes a free one; `context_window` is in tokens."""
        super().__init__(
            answer,
            port=port,
            keys=keys if keys is not None else (f"sk-ant-api03-{secrets.token_urlsafe(36)}",),
            models=models,
        )
        self.context_window = context_window
        self._sent = count(1)

    @property
    def base_url(self) -> str:
        """What a client is given as base_url: the package adds /v1/messages."""
        return f"http://127.0.0.1:{self.port}"

    def _route(self, http: web.Request) -> Handler:
        if http.path != "/v1/messages":
            raise errors.refuse("Not Found", 404)
        if http.method != "POST":
            raise errors.refuse("Method Not Allowed", 405)
        return self._messages

    def _check_key(self, http: web.Request) -> None:
        key = http.headers.get("x-api-key")
        scheme, _, token = http.headers.get("Authorization", "").partition(" ")
        if key is None and scheme.lower() == "bearer":  # so the package sends a key since 2026
            if token not in self.keys:
                raise errors.wrong_bearer()
        elif not key:
            raise errors.no_key()
        elif key not in self.keys:
            raise errors.wrong_key()
        version = http.headers.get("anthropic-version")
        if version is None:
            raise errors.no_version()
        if version not in VERSIONS:
            raise errors.wrong_version(version)

    async def _read(self, http: web.Request) -> dict[str, Any]:
        try:
            text = (await http.read()).decode()
            body = read_json(text)
            json.dumps(body, ensure_ascii=False).encode()
        except ValueError as error:  # no UTF-8, no JSON, half a surrogate pair
            raise errors.not_json(str(error)) from None
        if not isinstance(body, dict):
            raise errors.not_json("expected an object")
        return body

    async def _messages(self, http: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """POST /v1/messages."""
        headers = headers_of(http)
        asked = read_request(body)
        if asked.model not in self.models:
            raise errors.unknown_model(asked.model)
        check_rules(asked, body, headers)
        request = parse_message_request(asked, body, len(self.requests) + 1, headers)
        tokens = tokens_of(request)
        if tokens > self.context_window:
            raise errors.refuse(f"prompt is too long: {tokens} tokens > {self.context_window} maximum")

        def made(reply: ModelReply) -> dict[str, Any] | Sequence[bytes]:
            whole = message(request, reply)
            return list(stream(whole)) if request.stream else whole

        return await self._answer(http, request, made)

    def _failure(self, failure: Failure) -> web.Response:
        own = self._headers()
        if failure.body is not None:
            return web.Response(status=failure.status, body=failure.body, headers=failure.headers)
        status, text = failure.status, failure.message or "Internal server error"
        headers = dict(failure.headers)
        if failure.kind is not None:
            status, text = SAID[failure.kind]
            headers = {"x-should-retry": "true" if status in (429, 500, 529) else "false"}
        if failure.kind == "rate_limited":
            headers |= {
                "retry-after": str(math.ceil(failure.retry_after)),
                "anthropic-ratelimit-input-tokens-limit": "30000",
                "anthropic-ratelimit-input-tokens-remaining": "0",
            }
        kind = failure.type if failure.kind is None and failure.code == "script_fault" else None
        return web.json_response(
            errors.envelope(text, status, own["request-id"], kind), status=status, headers={**own, **headers}
        )

    def _headers(self) -> dict[str, str]:
        return {
            "request-id": f"req_011C{made_up(f'{self.port} {next(self._sent)}')}",
            "anthropic-organization-id": "00000000-0000-4000-8000-000000000000",
        }
