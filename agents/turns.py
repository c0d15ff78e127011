"""Whose turn it is at a host: how many calls at once, in which order, and when none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic_ai.concurrency import ConcurrencyLimiter
from pydantic_ai.models import Model

# One article's sections and its title page; the smallest paid plans take about as many calls at once.
_AT_ONCE = 8
# A host on this machine works on few calls at once, llama.cpp and Ollama on 1 to 4, and lets the others wait
# in silence, which counts against `Patience.silence`. vLLM makes a batch of all that come.
_AT_ONCE_HERE = 4


class Turns:
    """What all calls to one host share, of whatever agent, article or model.

    Calls get their turn in the order in which they asked for it, so that one article with many sections
    delays another by what it has asked for so far and no more. A cancelled call gives its place back.
    """

    def __init__(self, at_once: int, host: str = "host") -> None:
        """`host` names it in traces of the waiting."""
        self.at_once = at_once
        self._places = ConcurrencyLimiter(at_once, name=host)
        self._paused_until = 0.0  # on the clock of the event loop

    @asynccontextmanager
    async def turn(self, time_limit: asyncio.Timeout) -> AsyncIterator[None]:
        """A place at the host, held while inside. The wait for it does not count against the time limit.

        For a call that has not begun, it is the time of others: with a slow model of one's own the last of 30
        sections would else fail before it was asked for.
        """
        left = _left(time_limit)
        time_limit.reschedule(None)
        await self._places.acquire("model")
        try:
            await self._pause_is_over()
            _set(time_limit, left)
            yield
        finally:
            self._places.release()

    async def pause(self, seconds: float) -> None:
        """Waits until the host may be asked again, and has all others wait, too: each would be refused."""
        self._paused_until = max(self._paused_until, _now() + seconds)
        await self._pause_is_over()

    async def _pause_is_over(self) -> None:
        while True:
            left = self._paused_until - _now()
            if left <= 0:
                return
            await asyncio.sleep(left)  # and look again: another call may have been told to wait longer


def turns_at(model: Model) -> Turns:
    """The turns at a model's host, as many calls at once as such a host takes."""
    return Turns(_AT_ONCE_HERE if _is_here(model) and model.system != "vllm" else _AT_ONCE, address_of(model))


def address_of(model: Model) -> str:
    """What tells one host from another: its name and port, or the provider where there is no address."""
    netloc = urlsplit(model.base_url or "").netloc
    return netloc.rpartition("@")[2].lower() or model.system  # a password may stand before the @


def _is_here(model: Model) -> bool:
    name = urlsplit(model.base_url or "").hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _left(time_limit: asyncio.Timeout) -> float | None:
    ends = time_limit.when()
    return None if ends is None else ends - _now()


def _set(time_limit: asyncio.Timeout, left: float | None) -> None:
    time_limit.reschedule(None if left is None else _now() + left)


def _now() -> float:
    return asyncio.get_running_loop().time()
