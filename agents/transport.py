"""What comes back from a model's host over HTTP, whatever library asks: whole, and of bounded length."""

from typing import Any

import httpx2
from pydantic_ai.providers import Provider

LONGEST_BODY = (
    32 * 2**20
)  # bytes, unpacked. The longest answer of a model is some 100,000 tokens: below 1 MiB.


class AnswerTooLong(httpx2.DecodingError):
    """A host sent more than any answer of a model is."""


def bound_answers(provider: Provider[Any]) -> None:
    """Have no answer to this provider be longer than `LONGEST_BODY`: its library raises on `AnswerTooLong`.

    The libraries read a body whole before anyone sees it, and none has a setting for how much that may be.
    Bounded are all that PydanticAI makes an HTTP client for, by its own two attributes: `http_client=` would
    leave to us which of httpx and httpx2 a library wants, and when it is opened and closed; a transport would
    have httpx ignore proxy variables.
    """
    make = provider._http_client_factory
    made = provider._own_http_client
    if make is None or made is None:
        return  # Bedrock and xAI: libraries without httpx

    def bounded() -> Any:
        client = make()
        client.event_hooks["response"].append(_read_within_bounds)
        return client

    provider._http_client_factory = bounded  # the client of a provider that is opened again
    made.event_hooks["response"].append(_read_within_bounds)


async def _read_within_bounds(response: httpx2.Response) -> None:
    """A hook of httpx, called once the head of a response is there and its body is not read yet."""
    arriving = type(response)(
        response.status_code,
        headers=response.headers,
        stream=response.stream,
        request=response.request,
    )
    body = bytearray()
    async for piece in arriving.aiter_bytes():
        if len(body) + len(piece) > LONGEST_BODY:
            raise AnswerTooLong(f"more than {LONGEST_BODY >> 20} MiB", request=response.request)
        body += piece
    response.headers.pop("Content-Encoding", None)  # it is unpacked
    response.stream = httpx2.ByteStream(bytes(body))
