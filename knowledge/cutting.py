"""Cutting: from a file or page to chunks and their words, ready to be written."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowledge.bm25 import packed_vector
from knowledge.chunks import Chunk, cut_into_chunks, searchable
from knowledge.loaders import Loaded, load, load_page
from knowledge.tokens import term_counts

if TYPE_CHECKING:  # what cuts files does not wait for what fetches pages
    from knowledge.fetch import Fetched

INDEX_VERSION = 3
"""Raise it when loaders, chunks or tokens change: the next ingest then cuts unchanged documents again."""


@dataclass(frozen=True)
class NamedFile:
    """A file's content, and the name whose ending says how to read it."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Cut:
    """A document ready to be written."""

    loaded: Loaded
    chunks: list[Chunk]
    words: list[bytes]  # of each chunk, as the database stores a sparsevec


def cut(given: "NamedFile | Fetched") -> Cut:
    """Made ready, here and now. Slow for large files: not on the event loop. Raises LoadError."""
    return _cut(load(given.name, given.content) if isinstance(given, NamedFile) else load_page(given))


def _cut(loaded: Loaded) -> Cut:
    chunks = cut_into_chunks(loaded.text, loaded.blocks, title=loaded.title, lang=loaded.lang)
    words = [
        packed_vector(term_counts(searchable(chunk.heading, chunk.text)), chunk.lang) for chunk in chunks
    ]
    return Cut(replace(loaded, blocks=()), chunks, words)  # blocks are many, and have done their work
