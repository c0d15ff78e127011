"""Reading a request off the wire, and putting more than JSON on it: streams, errors, closed connections."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from tests.scripted_openai import errors
from tests.scripted_openai.plausible import read_json
from tests.scripted_openai.replies import Failure


async def read_body(http: web.Request) -> dict[str, Any]:
    """The JSON object of a request. Raises Refusal for anything else, text that is no Unicode included."""
    if http.content_type != "application/json":
        raise errors.wrong_content_type(http.headers.get("Content-Type", ""))
    try:
        text = (await http.read()).decode()
        body = read_json(text)
        json.dumps(body, ensure_ascii=False).encode()
    except ValueError:  # no UTF-8, no JSON, half a surrogate pair
        raise errors.not_json() from None
    if not isinstance(body, dict):
        raise errors.not_json()
    return body


def headers_of(http: web.Request) -> dict[str, str]:
    """The headers of a request, names in lower case."""
    return {name.lower(): value for name, value in http.headers.items()}


async def finish(
    http: web.Request, response: web.StreamResponse | None, last: bytes = b""
) -> web.StreamResponse:
    """Sends the end of a stream; closes the connection if there is no response."""
    if response is None:
        if http.transport is not None:
            http.transport.abort()
        return web.Response()  # aiohttp finds nobody to send it to
    if last:
        await response.write(last)
        await response.write_eof()
    return response


def failure_response(failure: Failure, own: Mapping[str, str]) -> web.Response:
    """An error: OpenAI's body and the host's `own` headers, or the bytes that the script gives."""
    if failure.body is not None:
        return web.Response(status=failure.status, body=failure.body, headers=failure.headers)
    message = failure.message or "The server had an error while processing your request."
    body = errors.error_body(message, failure.type or errors.INVALID, failure.param, failure.code)
    return web.json_response(body, status=failure.status, headers={**own, **failure.headers})


async def begin_stream(
    http: web.Request, events: Sequence[bytes], own: Mapping[str, str]
) -> web.StreamResponse:
    """Sends all events of a stream but the last."""
    response = web.StreamResponse(
        headers={**own, "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
    )
    await response.prepare(http)
    for event in events:
        await response.write(event)
    return response
