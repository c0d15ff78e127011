"""The Web API: reads a call, checks token, scopes and arguments, runs the method, records what came of it."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from bot.local_slack.chat_methods import CHAT_METHODS
from bot.local_slack.faults import Faults, RateLimits, dropped
from bot.local_slack.file_methods import FILE_METHODS
from bot.local_slack.limits import Refusal
from bot.local_slack.methods import Kind, Method, Parts
from bot.local_slack.read_methods import READ_METHODS
from bot.local_slack.shapes import problem
from bot.local_slack.view_methods import VIEW_METHODS
from bot.local_slack.workspace import Json


def api_test(parts: Parts, a: Json) -> Json:
    if a.get("error"):
        raise Refusal(a["error"])
    return {"args": a}


METHODS: dict[str, Method] = {
    **CHAT_METHODS,
    **READ_METHODS,
    **VIEW_METHODS,
    **FILE_METHODS,
    "api.test": Method(api_test, {"error": "text", "foo": "text"}, tier=4, token="none"),
}


@dataclass
class Call:
    """One call of the Web API. `result` is None when the connection was dropped before it took effect."""

    method: str
    args: Json
    at: float
    result: Json | None = None
    status: int = 200

    @property
    def ok(self) -> bool:
        return bool(self.result and self.result["ok"])


@dataclass
class WebApi:
    parts: Parts
    rate_limits: RateLimits | None = None
    faults: Faults = field(default_factory=Faults)
    calls: list[Call] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """POST or GET /api/{method}."""
        name = request.match_info["method"]
        method = METHODS.get(name)
        raw, token, complaint = await read_request(request, takes_json=method is None or method.takes_json)
        call = Call(name, raw, self.parts.workspace.clock())
        self.calls.append(call)
        fault = self.faults.next_for(name, raw)
        if fault and fault.delay:
            await asyncio.sleep(fault.delay)
        if fault and fault.drop == "before":
            return dropped(request)
        headers: dict[str, str] = {}
        if fault and (fault.error or fault.status):
            call.status = fault.status or 200
            call.result = {"ok": False, "error": fault.error or "internal_error"}
            if fault.retry_after is not None:
                headers["Retry-After"] = str(fault.retry_after)
        elif wait := self._must_wait(name, method, raw):
            call.status, call.result = 429, {"ok": False, "error": "ratelimited"}
            headers["Retry-After"] = str(wait)
        else:
            call.result = complaint or self._run(method, name, call, token)
            if token == self.parts.app.bot_token:
                headers["X-OAuth-Scopes"] = ",".join(self.parts.app.scopes)
        self.parts.workspace.changed()
        if fault and fault.drop == "never":
            await asyncio.Event().wait()
        if fault and fault.drop == "after":
            return dropped(request)
        return web.json_response(call.result, status=call.status, headers=headers)

    def _must_wait(self, name: str, method: Method | None, args: Json) -> int | None:
        if self.rate_limits is None or method is None:
            return None
        return self.rate_limits.retry_after(name, method.tier, str(args.get("channel", "")))

    def _run(self, method: Method | None, name: str, call: Call, token: str | None) -> Json:
        try:
            if method is None:
                return {"ok": False, "error": "unknown_method", "req_method": name}
            self._check_caller(method, token)
            call.args = checked_arguments(method, call.args)
            return {"ok": True, **method.run(self.parts, call.args)}
        except Refusal as refusal:
            return refused(refusal)

    def _check_caller(self, method: Method, token: str | None) -> None:
        if method.token == "none":
            return
        app = self.parts.app
        if not token:
            raise Refusal("not_authed")
        if token not in (app.bot_token, app.app_token):
            raise Refusal("invalid_auth")
        if not app.installed:
            raise Refusal("account_inactive")
        if token != (app.app_token if method.token == "app" else app.bot_token):
            raise Refusal("not_allowed_token_type")
        missing = [scope for scope in method.scopes if scope not in app.scopes]
        if missing:
            raise Refusal("missing_scope", needed=",".join(missing), provided=",".join(app.scopes))


def refused(refusal: Refusal) -> Json:
    """A refusal as Slack answers it."""
    answer: Json = {"ok": False, "error": refusal.code, **refusal.more}
    if refusal.problems:
        answer["response_metadata"] = {"messages": [f"[ERROR] {one}" for one in refusal.problems]}
    return answer


async def read_request(request: web.Request, *, takes_json: bool) -> tuple[Json, str | None, Json | None]:
    """Arguments as sent, the token, and what is wrong with the body, if anything.

    Slack reads the query, forms, and for some methods JSON; elsewhere a JSON body is not looked at.
    """
    args: Json = dict(request.query)
    complaint: Json | None = None
    if request.content_type == "application/json":
        try:
            body = await request.json() if takes_json and request.can_read_body else {}
        except ValueError:
            body = None
        if not isinstance(body, dict):
            complaint = {"ok": False, "error": "invalid_json"}
        else:
            args |= body
    elif request.method == "POST":
        args |= {key: str(value) for key, value in (await request.post()).items()}
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    in_body = args.pop("token", None)
    return args, (token if scheme == "Bearer" and token else in_body), complaint


def checked_arguments(method: Method, args: Mapping[str, Any]) -> Json:
    """Arguments of their kinds. An argument that the method does not know is refused, on purpose:

    Slack drops it without a word, and a misspelt name would do nothing.
    """
    checked: Json = {}
    problems: list[str] = []
    for name, value in args.items():
        if name not in method.arguments:
            problems.append(problem(f"unknown argument: {name}", f"/{name}"))
            continue
        if value is None:
            continue
        try:
            checked[name] = convert(method.arguments[name], value)
        except ValueError as wrong:
            if name == "blocks":
                raise Refusal("invalid_blocks_format") from None
            problems.append(problem(str(wrong), f"/{name}"))
    problems += [
        problem(f"missing required field: {name}", "/")
        for name in method.required
        if checked.get(name) in (None, "")
    ]
    if problems:
        raise Refusal("invalid_arguments", problems)
    return checked


def convert(kind: Kind, value: Any) -> Any:
    """A value of a form or of JSON as the kind that the method takes; ValueError says what was expected."""
    match kind:
        case "text":
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                return str(value)
            raise ValueError("must provide a string")
        case "flag":
            if isinstance(value, bool):
                return value
            if str(value).lower() in ("true", "1", "false", "0"):
                return str(value).lower() in ("true", "1")
            raise ValueError("must provide a boolean")
        case "number":
            if isinstance(value, bool) or not str(value).lstrip("-").isdigit():
                raise ValueError("must provide an integer")
            return int(value)
        case "list":
            if isinstance(value, str):
                return [part.strip() for part in value.split(",") if part.strip()]
            if isinstance(value, list) and all(isinstance(part, str) for part in value):
                return value
            raise ValueError("must provide an array of strings")
        case "json":
            try:
                return json.loads(value) if isinstance(value, str) else value
            except ValueError:
                raise ValueError("must provide JSON") from None
