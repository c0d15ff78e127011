"""A knowledge base of any size for measuring speed: sentences of real passages, put together anew."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector, SparseVector

from knowledge.bm25 import EVERY_CHUNK, vector_of_terms
from knowledge.chunks import TARGET, size_of
from knowledge.database import Pool
from knowledge.language import Language
from knowledge.sentences import sentences
from knowledge.tokens import term_id, tokens

_AT_ONCE = 2_000  # chunks written in one go
_CHUNKS_OF_A_DOCUMENT = 8
_FULL = 0.8 * TARGET  # the usual size of a chunk, of which few are as large as they may be
_OWN_WORDS = 6  # of a chunk: real text has rare words however large the base is
_NOISE = 0.6  # length of what is added to a real vector of length 1: a neighbour has a cosine of about 0.7

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Real:
    """A passage of a real text, and its vector of length 1."""

    text: str
    lang: Language
    vector: Vectors


async def fill(pool: Pool, real: Sequence[Real], model: str, *, chunks: int, seed: int = 1) -> None:
    """Put `chunks` chunks into an empty base, with words and with vectors under the name of a model.

    A chunk has sentences of passages in one language, as long as a real one, a few words of its own, and the
    vector of one of these passages with noise: so lists of words are as long as in a real base, or longer,
    since there are fewer words in all, and vectors lie in clusters.
    """
    random = np.random.default_rng(seed)
    by_language: dict[Language, list[tuple[str, Counter[int]]]] = {}
    for passage in real:
        for start, end in sentences(passage.text):
            text = passage.text[start:end]
            by_language.setdefault(passage.lang, []).append((text, Counter(map(term_id, tokens(text)))))
    sizes = {lang: np.mean([size_of(text) for text, _ in each]) for lang, each in by_language.items()}
    dimensions = len(real[0].vector)
    model_id = await pool.fetchval(
        "insert into embedding_models (name, dimensions) values ($1, $2) returning id", model, dimensions
    )
    counts: Counter[int] = Counter()
    for first in range(0, chunks, _AT_ONCE):
        number = min(_AT_ONCE, chunks - first)
        documents = await pool.fetch(
            """
            insert into documents (origin, path, kind, title, lang, sha256, size, index_version, text)
            select '/large/' || n, '/large/' || n, 'text', 'Document ' || n, 'en', n::text, 1, 1, ''
            from generate_series($1::int, $2::int) n returning id
            """,
            first,
            first + -(-number // _CHUNKS_OF_A_DOCUMENT) - 1,
        )
        records: list[tuple[int, int, str, str, int, int, Language]] = []
        words: list[SparseVector] = []
        vectors: list[Vectors] = []
        for at in range(number):
            like = real[int(random.integers(len(real)))]
            of_language = by_language[like.lang]
            size = round(_FULL / sizes[like.lang])
            chosen = [of_language[at] for at in random.integers(len(of_language), size=size)]
            own = random.integers(1 << 29, size=_OWN_WORDS).tolist()
            terms = Counter(own)
            for _, each in chosen:
                terms.update(each)
            text = " ".join(text for text, _ in chosen)
            document, position = divmod(at, _CHUNKS_OF_A_DOCUMENT)
            records.append((documents[document]["id"], position, "Large", text, 0, len(text), like.lang))
            words.append(vector_of_terms(terms, like.lang))
            counts.update([EVERY_CHUNK, *terms])
            noise = random.normal(size=dimensions)
            vector = like.vector + _NOISE * noise / np.linalg.norm(noise)
            vectors.append((vector / np.linalg.norm(vector)).astype(np.float32))
        async with pool.acquire() as connection, connection.transaction():
            rows = await connection.fetch(
                """
                insert into chunks (document_id, position, heading, text, start_offset, end_offset, lang)
                select * from unnest($1::int[], $2::int[], $3::text[], $4::text[], $5::int[], $6::int[],
                                     $7::text[])
                returning id, lang
                """,
                *([*column] for column in zip(*records, strict=True)),
            )
            await connection.copy_records_to_table(
                "chunk_words",
                records=[(row["id"], each) for row, each in zip(rows, words, strict=True)],
                columns=("chunk_id", "words"),
            )
            await connection.copy_records_to_table(
                "chunk_vectors",
                records=[
                    (model_id, row["id"], row["lang"], HalfVector(vector))
                    for row, vector in zip(rows, vectors, strict=True)
                ],
                columns=("model_id", "chunk_id", "lang", "vector"),
            )
    await pool.copy_records_to_table("terms", records=counts.items(), columns=("term", "chunks"))
    await pool.execute("analyze")
