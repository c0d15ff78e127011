"""What can go wrong on the way: faults that a test asks for, and Slack's rate limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web

PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}  # tiers of the Web API; 5 has limits of its own
POST_BURST = 4  # chat.postMessage: one a second for each channel, and a few at once


Drop = Literal["before", "after", "never"]


@dataclass
class Fault:
    """The next `times` calls of `method` go wrong in this way.

    `error` is Slack's own, `status` an HTTP one; `drop` closes the connection without an answer, before the
    call has had its effect or after, or never: then the caller waits as long as it likes after its effect.
    `delay` (seconds) comes first and may stand alone. "upload" and "download" as methods are the addresses of
    a file's bytes.
    """

    method: str
    times: int = 1
    error: str | None = None
    status: int | None = None
    retry_after: int | None = None
    drop: Drop | None = None
    delay: float = 0
    when: Callable[[Mapping[str, Any]], bool] | None = None


def dropped(request: web.Request) -> web.Response:
    """Close the connection under the caller, without a word."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


class Faults:
    def __init__(self) -> None:
        self._planned: list[Fault] = []

    def plan(self, fault: Fault) -> None:
        self._planned.append(fault)

    def next_for(self, method: str, arguments: Mapping[str, Any]) -> Fault | None:
        for fault in self._planned:
            if fault.method == method and (fault.when is None or fault.when(arguments)):
                fault.times -= 1
                if fault.times == 0:
                    self._planned.remove(fault)
                return fault
        return None


class RateLimits:
    """A bucket for each method (and channel, for chat.postMessage) that refills as time goes by."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}  # what is left, and when

    def retry_after(self, method: str, tier: int, channel: str) -> int | None:
        """Take one call; None when it may go on, else the whole seconds to wait."""
        if method == "chat.postMessage":
            size, per_second = float(POST_BURST), 1.0
        elif tier in PER_MINUTE:
            size, per_second, channel = float(PER_MINUTE[tier]), PER_MINUTE[tier] / 60, ""
        else:
            return None
        now = self._clock()
        left, then = self._buckets.get((method, channel), (size, now))
        left = min(size, left + (now - then) * per_second)
        allowed = left >= 1
        self._buckets[method, channel] = (left - 1 if allowed else left, now)
        return None if allowed else max(1, round((1 - left) / per_second))
