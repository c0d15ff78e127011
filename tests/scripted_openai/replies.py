"""What a script can answer: what a model says, what a host or a network does instead."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from tests.scripted_openai.errors import INVALID


class Counted(Enum):
    """The usage that the host counts itself, which is what a reply has unless it says otherwise."""

    COUNTED = "counted"


COUNTED = Counted.COUNTED


@dataclass(frozen=True)
class Usage:
    """The tokens that an answer claims to have taken."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Any answer. `delay` is seconds before it is sent; a client that goes away meanwhile is noticed."""

    delay: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ModelReply(Reply):
    """What a model says. Unless it is `broken` it must be what a real model could have said to that request.

    `usage=None` leaves usage out, as some gateways do. `reasoning` is what the model thought before, where
    the host shows that; a host whose model thinks makes something up if it is None.
    """

    broken: bool = False
    reasoning: str | None = None
    usage: Usage | Counted | None = COUNTED


@dataclass(frozen=True)
class Text(ModelReply):
    """A text. `length` is one that was cut off by max_tokens."""

    content: str
    finish_reason: Literal["stop", "length", "content_filter"] = "stop"


@dataclass(frozen=True)
class Call:
    """One tool call. A string of arguments is sent as it is; `id` is made up unless it is given."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None


@dataclass(frozen=True)
class ToolCalls(ModelReply):
    """One or more tool calls, with or without a text beside them."""

    calls: Sequence[Call]
    text: str | None = None


@dataclass(frozen=True)
class Refusal(ModelReply):
    """The model declines: `refusal` in place of content."""

    text: str


Kind = Literal["rate_limited", "no_quota", "server_error", "overloaded", "wrong_key"]


@dataclass(frozen=True)
class Failure(Reply):
    """An error of the host, with OpenAI's body unless `body` gives other bytes.

    One with a `kind`, which the ready-made ones have, is said by each host in its own words: the same script
    serves them all.
    """

    status: int
    code: str | None = None
    message: str | None = None
    type: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    kind: Kind | None = None
    retry_after: float = 0.0  # seconds; of `rate_limited`

    @classmethod
    def rate_limited(cls, retry_after: float = 1.0, *, delay: float = 0.0) -> "Failure":
        """429, too many tokens a minute. Retry-After is in whole seconds, retry-after-ms exact."""
        milliseconds = round(retry_after * 1000)
        wait = f"{milliseconds}ms" if milliseconds < 1000 else f"{retry_after:g}s"
        return cls(
            429,
            "rate_limit_exceeded",
            "Rate limit reached for the model in organization org-scripted on tokens per min (TPM): Limit "
            f"30000, Used 28039, Requested 3906. Please try again in {wait}. Visit "
            "https://platform.openai.com/account/rate-limits to learn more.",
            "tokens",
            headers={
                "retry-after": str(math.ceil(retry_after)),
                "retry-after-ms": str(milliseconds),
                "x-ratelimit-limit-requests": "500",
                "x-ratelimit-limit-tokens": "30000",
                "x-ratelimit-remaining-requests": "499",
                "x-ratelimit-remaining-tokens": "1961",
                "x-ratelimit-reset-requests": "120ms",
                "x-ratelimit-reset-tokens": wait,
            },
            kind="rate_limited",
            retry_after=retry_after,
            delay=delay,
        )

    @classmethod
    def no_quota(cls) -> "Failure":
        """429, but the account has no money left: a retry does not help."""
        return cls(
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details. For more "
            "information on this error, read the docs: "
            "https://platform.openai.com/docs/guides/error-codes/api-errors.",
            "insufficient_quota",
            kind="no_quota",
        )

    @classmethod
    def server_error(cls, *, delay: float = 0.0) -> "Failure":
        """500."""
        return cls(
            500,
            None,
            "The server had an error while processing your request. Sorry about that! You can retry your "
            "request, or contact us through our help center at help.openai.com if the error persists.",
            "server_error",
            kind="server_error",
            delay=delay,
        )

    @classmethod
    def overloaded(cls, *, delay: float = 0.0) -> "Failure":
        """503."""
        return cls(
            503,
            None,
            "The engine is currently overloaded, please try again later.",
            "server_error",
            kind="overloaded",
            delay=delay,
        )

    @classmethod
    def wrong_key(cls) -> "Failure":
        """401, as for a key that has been revoked meanwhile."""
        return cls(
            401,
            "invalid_api_key",
            "Incorrect API key provided. You can find your API key at "
            "https://platform.openai.com/account/api-keys.",
            INVALID,
            kind="wrong_key",
        )

    @classmethod
    def html(cls, status: int = 502) -> "Failure":
        """A page of HTML, as a proxy or a wrong host sends one."""
        page = (
            f"<html>\r\n<head><title>{status}</title></head>\r\n<body>\r\n<center><h1>{status}</h1></center>"
        )
        return cls(
            status,
            headers={"content-type": "text/html; charset=utf-8"},
            body=f"{page}\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n".encode(),
        )


@dataclass(frozen=True)
class Hang(Reply):
    """No answer until the client goes away or the host stops."""


@dataclass(frozen=True)
class Drop(Reply):
    """The connection is closed without an answer."""


@dataclass(frozen=True)
class Raw(Reply):
    """These bytes, whatever they are."""

    status: int
    body: bytes
    content_type: str = "application/json"
