"""What came from Slack and has been acknowledged: kept until it is carried out, and carried out once."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from knowledge.counters import duplicates_dropped
from knowledge.database import Pool

# Whoever works on something does so for less than this; then another process takes it to be dead.
TAKEN_FOR = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something to be carried out; `attempts` counts those that failed or were never ended."""

    id: int
    key: str
    what: dict[str, Any]
    attempts: int


class Inbox:
    """Effects are claimed with the effects themselves (`Change.claims`): this is what leads to them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def keep(self, key: str, what: dict[str, Any]) -> Arrival | None:
        """Write it down, taken by the caller; None where it is written down already."""
        row = await self._pool.fetchrow(
            """
            insert into arrivals (key, what, due_at) values ($1, $2, now() + $3)
            on conflict (key) do nothing returning id, key, what, attempts
            """,
            key,
            what,
            TAKEN_FOR,
        )
        if row is None:
            duplicates_dropped.add(1, {"at": "arrival"})
            return None
        return Arrival(**dict(row))

    async def take(self, limit: int) -> list[Arrival]:
        """What nobody works on, oldest first, taken by the caller: left by a dead process, or due again."""
        rows = await self._pool.fetch(
            """
            update arrivals set due_at = now() + $2, attempts = attempts + 1
            where id in (
                select id from arrivals where due_at <= now() order by id for update skip locked limit $1
            )
            returning id, key, what, attempts
            """,
            limit,
            TAKEN_FOR,
        )
        return sorted((Arrival(**dict(row)) for row in rows), key=lambda arrival: arrival.id)

    async def still_ours(self, arrival: Arrival) -> bool:
        """Whether nobody has taken or done it since; then it is taken for as long again."""
        row = await self._pool.fetchrow(
            "update arrivals set due_at = now() + $3 where id = $1 and attempts = $2 returning id",
            arrival.id,
            arrival.attempts,
            TAKEN_FOR,
        )
        return row is not None

    async def after_another(self, arrival: Arrival) -> bool:
        """Whether a word that was said before it in the same thread is still to be carried out."""
        after: bool = await self._pool.fetchval(
            """
            select exists (
                select from arrivals earlier join arrivals this on this.id = $1
                where earlier.id < this.id and earlier.what->>'kind' = 'spoken'
                    and earlier.what->'said'->'channel_id' = this.what->'said'->'channel_id'
                    and earlier.what->'said'->'thread_ts' = this.what->'said'->'thread_ts'
            )
            """,
            arrival.id,
        )
        return after

    async def heard(self, arrival: Arrival) -> bool:
        """Whether it has had its effect, which claims its key."""
        heard: bool = await self._pool.fetchval(
            "select exists (select from inbox where key = $1)", arrival.key
        )
        if heard:
            duplicates_dropped.add(1, {"at": "arrival"})
        return heard

    async def again(self, arrival: Arrival, delay: timedelta) -> None:
        """It could not be carried out; after `delay` somebody tries again."""
        await self._pool.execute("update arrivals set due_at = now() + $2 where id = $1", arrival.id, delay)

    async def later(self, arrival: Arrival, delay: timedelta) -> None:
        """It waits for something else, which is no try of its own."""
        await self._pool.execute(
            "update arrivals set due_at = now() + $2, attempts = attempts - 1"
            " where id = $1 and attempts = $3",
            arrival.id,
            delay,
            arrival.attempts,
        )

    async def done(self, arrival: Arrival) -> None:
        await self._pool.execute("delete from arrivals where id = $1", arrival.id)
