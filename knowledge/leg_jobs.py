"""The procrastinate jobs of an article: one for each leg."""

from knowledge.database import Connection, Pool

# The one task that works on articles; `bot.jobs` registers it under this name.
LEG_TASK = "copydesk.leg"
QUEUE = "articles"


async def defer_leg(connection: Connection, article_id: int, *, moves: int) -> None:
    """Queue the next leg in this very transaction: it starts if, and only if, the move is committed."""
    await connection.execute(
        """
        update articles set job_id = (procrastinate_defer_jobs_v1(array[row(
            $2::text, $3::text, 0, 'article:' || $1, null,
            jsonb_build_object('article_id', $1::integer, 'moves', $4::integer), null
        )::procrastinate_job_to_defer_v1]))[1]
        where id = $1
        """,
        article_id,
        QUEUE,
        LEG_TASK,
        moves,
    )


async def free_ended_legs(pool: Pool, *, seconds: int) -> list[int]:
    """End jobs of legs whose article moved on `seconds` ago; returns their ids.

    Such a leg has written its end, but its job still counts as running (the database went away in
    between), and its lock would hold back all that follows for the article.
    """
    rows = await pool.fetch(
        """
        select j.id, procrastinate_finish_job_v1(j.id, 'succeeded', false)
        from procrastinate_jobs j join articles a on a.id = (j.args->>'article_id')::integer
        where j.task_name = $1 and j.status = 'doing' and (j.args->>'moves')::integer < a.moves
          and a.updated_at < now() - make_interval(secs => $2)
        """,
        LEG_TASK,
        seconds,
    )
    return [row["id"] for row in rows]
