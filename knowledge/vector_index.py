"""Search by meaning: the chunks with the nearest vectors, and the index that finds them in a large base."""

import logging

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from knowledge.database import Connection, Pool
from knowledge.filters import Scope
from knowledge.language import LANGUAGES, Language
from knowledge.means import Means

logger = logging.getLogger(__name__)

# Up to so many vectors of a model each is looked at; above, a language that has a good part of them gets an
# index, and the nearest are nearly all of those that an exact search finds.
_EXACT_UP_TO = 50_000
_FEW = 10_000
_MOST_DIMENSIONS = 4_000  # of an HNSW index over halfvec

_BUILD_MEMORY = (
    "256MB"  # 100,000 vectors of 384 numbers need 110 MB; an index that does not fit is built slowly
)
_BUILD_SECONDS = 6 * 3600.0
_BUILD_LOCK = 0x686E7377  # "hnsw": one worker builds


async def nearest(
    pool: Pool, means: Means, query: NDArray[np.float32], scope: Scope, *, most: int
) -> set[int]:
    """The `most` chunks of each language whose vectors are nearest to a query without its language.

    Each has its own list, so that one with few documents is not lost behind one with many. Within a language
    the order is the same with its mean and without, so vectors are compared as they are stored. Behind a
    filter the search is exact.
    """
    if not means.languages:
        return set()
    rows = await pool.fetch(nearest_sql(means, scope), HalfVector(query), most, *scope.arguments)
    return {row["chunk_id"] for row in rows}


def nearest_sql(means: Means, scope: Scope) -> str:
    """A list for each language. `$1` is the query's vector, `$2` how many, `$3` the scope's first argument.

    Model and language are written out, and what it sorts by is what an index is on: so one is used if it is
    there.
    """
    vector = "vector" if scope.narrow else f"(vector::halfvec({means.dimensions}))"  # what the index is on
    return " union all ".join(
        f"""
        (select chunk_id from chunk_vectors
         where model_id = {means.model_id} and lang = '{lang}' and {scope.sql("chunk_id", first=3)}
         order by {vector} <#> $1::halfvec({means.dimensions}) limit $2)
        """
        for lang in means.languages
    )


async def index_vectors(pool: Pool, *, above: int = _EXACT_UP_TO, few: int = _FEW) -> str | None:
    """Build the next index that is missing, or remove one whose model is gone. Returns what was done.

    A model with more than `above` vectors gets one for each language with `few` of them or more.
    While it is built, which takes seconds to minutes, vectors are read and written as before. One process at
    a time; for the others there is nothing to do.
    """
    async with pool.acquire() as connection:
        if not await connection.fetchval("select pg_try_advisory_lock($1)", _BUILD_LOCK):
            return None
        try:
            return await _remove_useless(connection) or await _build_missing(connection, above, few)
        finally:
            await connection.execute("select pg_advisory_unlock($1)", _BUILD_LOCK)


async def _remove_useless(connection: Connection) -> str | None:
    """Of a model that is gone, or half built by a process that died."""
    name = await connection.fetchval(
        r"""
        select i.relname from pg_index x join pg_class i on i.oid = x.indexrelid
        where x.indrelid = 'chunk_vectors'::regclass and i.relname like 'nearest\_%'
          and (not x.indisvalid
               or split_part(i.relname, '_', 2)::int not in (select id from embedding_models))
        limit 1
        """
    )
    if name is None:
        return None
    await connection.execute(f"drop index concurrently if exists {name}", timeout=_BUILD_SECONDS)
    return f"removed {name}"


async def _build_missing(connection: Connection, above: int, few: int) -> str | None:
    row = await connection.fetchrow(
        """
        select m.id, m.dimensions, e.lang from embedding_models m join embedding_means e on e.model_id = m.id
        where m.dimensions <= $1 and e.chunks >= $2
          and (select sum(chunks) from embedding_means where model_id = m.id) > $3
          and to_regclass('nearest_' || m.id || '_' || e.lang) is null
        order by m.id, e.lang limit 1
        """,
        _MOST_DIMENSIONS,
        few,
        above,
    )
    if row is None:
        return None
    model_id, dimensions = int(row["id"]), int(row["dimensions"])
    [lang] = [lang for lang in LANGUAGES if lang == row["lang"]]
    name = index_name(model_id, lang)
    await connection.execute(f"set maintenance_work_mem = '{_BUILD_MEMORY}'")  # the pool resets it
    await connection.execute(
        f"""
        create index concurrently {name} on chunk_vectors
        using hnsw ((vector::halfvec({dimensions})) halfvec_ip_ops)
        where model_id = {model_id} and lang = '{lang}'
        """,
        timeout=_BUILD_SECONDS,
    )
    logger.info("Vectors of %s have an index now.", lang)
    return f"built {name}"


def index_name(model_id: int, lang: Language) -> str:
    """What the index of a model's vectors in a language is called."""
    return f"nearest_{model_id}_{lang}"
