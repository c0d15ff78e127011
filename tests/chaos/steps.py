"""The steps of a run as they are seen from outside, and the one at which the bot is killed."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Point:
    """A moment at a step: `moment` is before or after one of its effects, in the words of the table."""

    step: str
    moment: str

    def __str__(self) -> str:
        return f"{self.step}, {self.moment}"


@dataclass
class Watch:
    """Writes down what is reached; at `target` it kills."""

    target: Point | None
    kill: Callable[[], None]
    reached: list[Point] = field(default_factory=list)
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    killed_at: float = 0.0  # time.monotonic
    _named: Counter[str] = field(default_factory=Counter)

    def name(self, what: str) -> str:
        """The name of a step that may come more than once."""
        self._named[what] += 1
        return f"{what} #{self._named[what]}"

    def awaits(self, point: Point) -> bool:
        """Whether the bot is to be killed there."""
        return point == self.target and not self.killed.is_set()

    def reach(self, point: Point) -> bool:
        """Whether the bot was killed for it."""
        if not self.killed.is_set():
            self.reached.append(point)
        if not self.awaits(point):
            return False
        self.kill()
        self.killed_at = time.monotonic()
        self.killed.set()
        return True
