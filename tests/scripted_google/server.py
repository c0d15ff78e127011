"""A host that speaks Google's generateContent on 127.0.0.1, whose model is a script.

    async with ScriptedGoogle(lambda request: Text("Hello.")) as host:
        client = genai.Client(api_key=host.api_key, http_options=HttpOptions(base_url=host.base_url))

The script, the record and what a script is held to are those of tests/scripted_openai.
"""

import json
import re
import secrets
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from tests.scripted_google import errors
from tests.scripted_google.parse import parse_generate
from tests.scripted_google.response import response
from tests.scripted_google.rules import check_rules
from tests.scripted_google.shape import read_request
from tests.scripted_openai.billing import tokens_of
from tests.scripted_openai.host import Answer, Handler, ScriptedHost
from tests.scripted_openai.plausible import read_json
from tests.scripted_openai.replies import Failure
from tests.scripted_openai.wire import headers_of

MODELS = ("gemini-3.5-flash", "gemini-2.5-flash")
CONTEXT_WINDOW = 1_048_576
ADDRESS = re.compile(r"/v1beta/models/([^/:]+):(\w+)")
OVERLOADED = (
    "This model is currently experiencing high demand. Spikes in demand are usually temporary. Please try "
    "again "
    "later."
)
INTERNAL = (
    "An internal error has occurred. Please retry or report in "
    "https://developers.generativeai.google/guide/troubleshooting"
)


class ScriptedGoogle(ScriptedHost):
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
            keys=keys if keys is not None else (f"AIzaSy{secrets.token_urlsafe(25)[:33]}",),
            models=models,
        )
        self.context_window = context_window

    @property
    def base_url(self) -> str:
        """What a client is given as base_url: the package adds /v1beta/models/…"""
        return f"http://127.0.0.1:{self.port}"

    def _route(self, http: web.Request) -> Handler:
        found = ADDRESS.fullmatch(http.path)
        if found is None or http.method != "POST":
            raise errors.refuse("Not Found", 404)
        if found[2] != "generateContent":
            raise errors.not_scripted(found[2])
        return self._generate

    def _check_key(self, http: web.Request) -> None:
        key = http.headers.get("x-goog-api-key") or http.query.get("key")
        if not key:
            raise errors.no_key()
        if key not in self.keys:
            raise errors.wrong_key()

    async def _read(self, http: web.Request) -> dict[str, Any]:
        try:
            body = read_json((await http.read()).decode())
            json.dumps(body, ensure_ascii=False).encode()
        except ValueError as error:  # no UTF-8, no JSON, half a surrogate pair
            problem = f"Invalid JSON payload received. {error}"
            raise errors.violations([("", problem)]) from None
        if not isinstance(body, dict):
            raise errors.violations([("", "Invalid JSON payload received. Expected an object.")])
        return body

    async def _generate(self, http: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """POST /v1beta/models/{model}:generateContent."""
        model = http.path.rpartition("/")[2].partition(":")[0]
        asked = read_request(body)
        if model not in self.models:
            raise errors.unknown_model(model)
        check_rules(asked, model)
        request = parse_generate(asked, model, body, len(self.requests) + 1, headers_of(http))
        tokens = tokens_of(request)
        if tokens > self.context_window:
            raise errors.refuse(
                f"The input token count ({tokens}) exceeds the maximum number of tokens allowed "
                f"({self.context_window})."
            )
        return await self._answer(http, request, lambda reply: response(request, reply))

    def _failure(self, failure: Failure) -> web.Response:
        if failure.body is not None:
            return web.Response(status=failure.status, body=failure.body, headers=failure.headers)
        model = self.requests[-1].model if self.requests else self.models[0]
        match failure.kind:
            case "rate_limited":
                body = errors.over_quota(model, failure.retry_after, daily=False)
            case "no_quota":
                body = errors.over_quota(model, 3600, daily=True)
            case "overloaded":
                body = errors.envelope(OVERLOADED, 503)
            case "server_error":
                body = errors.envelope(INTERNAL, 500)
            case "wrong_key":
                body = errors.envelope(errors.BAD_KEY, 400, errors.wrong_key_details())
            case None:
                body = errors.envelope(failure.message or INTERNAL, failure.status)
        own = {**self._headers(), **({} if failure.kind else failure.headers)}
        return web.json_response(body, status=body["error"]["code"], headers=own)

    def _headers(self) -> dict[str, str]:
        return {"server": "scaffolding on HTTPServer2", "vary": "Origin, X-Origin, Referer"}
