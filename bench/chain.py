"""How deep calls stand one behind the other: the longest chain over when each began and ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar


class Timed(Protocol):
    """Something that began and ended, in seconds of one clock."""

    @property
    def began(self) -> float: ...
    @property
    def ended(self) -> float: ...


@dataclass(frozen=True)
class Interval:
    """From when to when something lasted, in seconds."""

    began: float
    ended: float


CallT = TypeVar("CallT", bound=Timed)


def seconds(call: Timed) -> float:
    """How long a call took."""
    return call.ended - call.began


def longest_chain(
    calls: Sequence[CallT],
    *,
    worth: Callable[[CallT], float] = lambda _: 1,
    may_follow: Callable[[CallT, CallT], bool] = lambda _former, _later: True,
) -> list[CallT]:
    """The chain that is worth most, in which each call began once the one before it had ended.

    By default a call is worth 1, so that the length of the chain is the depth; with `worth=seconds` it is the
    chain that takes longest. `may_follow(former, later)` leaves out steps that time alone would allow.
    """
    ordered = sorted(calls, key=lambda call: (call.began, call.ended))
    chains: list[list[CallT]] = []  # the best one that ends with each call
    for call in ordered:
        before = [chain for chain in chains if chain[-1].ended <= call.began and may_follow(chain[-1], call)]
        chains.append([*max(before, key=lambda chain: sum(map(worth, chain)), default=[]), call])
    return max(chains, key=lambda chain: sum(map(worth, chain)), default=[])
