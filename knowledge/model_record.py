"""How well models keep to the shape that is asked of them, counted over all articles."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from knowledge.database import Pool


@dataclass(frozen=True, slots=True)
class Conduct:
    """What became of structured answers of one model at one stage."""

    model: str
    stage: str
    answers: int = 0
    repaired: int = 0  # put right by code, at no cost
    asked_again: int = 0  # requests that had to be made once more
    rescued: int = 0  # given by the formatter or the fallback model instead
    failed: int = 0


class ModelRecord:
    """The counts in the database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(self, conducts: Iterable[Conduct]) -> None:
        """Add to what is counted already."""
        await self._pool.executemany(
            """
            insert into model_record as r (model, stage, answers, repaired, asked_again, rescued, failed)
            values ($1, $2, $3, $4, $5, $6, $7)
            on conflict (model, stage) do update set
                answers = r.answers + excluded.answers, repaired = r.repaired + excluded.repaired,
                asked_again = r.asked_again + excluded.asked_again,
                rescued = r.rescued + excluded.rescued, failed = r.failed + excluded.failed,
                updated_at = now()
            """,
            [astuple(conduct) for conduct in conducts],
        )

    async def of_models(self) -> list[Conduct]:
        """Each model over all stages (`stage` is ""), by name."""
        rows = await self._pool.fetch(
            """
            select model, '' as stage, sum(answers)::integer as answers, sum(repaired)::integer as repaired,
                sum(asked_again)::integer as asked_again, sum(rescued)::integer as rescued,
                sum(failed)::integer as failed
            from model_record group by model order by model
            """
        )
        return [Conduct(**row) for row in rows]
