"""Work that goes on after an acknowledgement: held, so that it is neither lost nor cut off on the way out."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)


class Background:
    """Bolt keeps no reference to what its listeners start and does not wait for it when it closes."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(
        self, work: Coroutine[Any, Any, None], *, on_fault: Callable[[], Awaitable[Any]] | None = None
    ) -> None:
        """Run `work`; a fault is logged, and `on_fault` tells the person who waits for an answer."""
        task = asyncio.create_task(self._watched(work, on_fault))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float) -> None:
        """Wait until all that was started has ended; what has not after `seconds` is cut off, and said so."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in late:
            log.error("cut off on the way out: %s", task)
            task.cancel()

    async def _watched(
        self, work: Coroutine[Any, Any, None], on_fault: Callable[[], Awaitable[Any]] | None
    ) -> None:
        try:
            await work
        except Exception:
            log.exception("a listener's work failed")
            if on_fault is None:
                return
            try:
                await on_fault()
            except Exception:
                log.exception("nor could the person be told")
