"""Whether the database answers."""

import asyncpg

from knowledge.database import Pool


async def reachable(pool: Pool) -> bool:
    """Asks for nothing but an answer; takes as long as the database takes."""
    try:
        return bool(await pool.fetchval("select true"))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
