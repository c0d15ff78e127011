"""What a search may find: whose sources, and of these what a filter leaves."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from knowledge.language import Language


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What is looked for; None is everything. A document whose date is not known is in no period."""

    collections: Collection[str] | None = None
    kinds: Collection[str] | None = None  # as documents.kind: markdown, text, pdf, code, web, docx
    languages: Collection[Language] | None = None  # a passage's, which may differ from its document's
    published_from: date | None = None
    published_until: date | None = None  # that day too

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) is not None for field in fields(self))


@dataclass(frozen=True)
class Scope:
    """A condition on a chunk's id, in SQL, and its arguments."""

    condition: str  # {chunk} is the id's column, {0} the place of the first argument
    arguments: tuple[Any, ...]
    narrow: bool  # it may leave few chunks

    def sql(self, chunk: str, *, first: int) -> str:
        """The condition on a column, its arguments from `$first` on."""
        places = (f"${first + at}" for at in range(len(self.arguments)))
        return self.condition.format(*places, chunk=chunk)


def scope_of(article_id: int | None, filters: Filters | None) -> Scope:
    """The base's chunks, with an article its own sources' too, and of these what the filters leave."""
    if not filters:
        # Sources of single articles are few beside the base: leaving them out costs least.
        return Scope(
            """
            {chunk} not in (select c.id from documents d join chunks c on c.document_id = d.id
                            where d.article_id is not null and d.article_id is distinct from {0}::int)
            """,
            (article_id,),
            narrow=False,
        )
    return Scope(
        """
        {chunk} in (select c.id from documents d join chunks c on c.document_id = d.id
                    where (d.article_id is null or d.article_id = {0}::int)
                      and ({1}::text[] is null or d.collection = any({1}))
                      and ({2}::text[] is null or d.kind = any({2}))
                      and ({3}::text[] is null or c.lang = any({3}))
                      and ({4}::date is null or d.published >= {4})
                      and ({5}::date is null or d.published <= {5}))
        """,
        (
            article_id,
            *(None if each is None else [*each] for each in (filters.collections, filters.kinds)),
            None if filters.languages is None else [*filters.languages],
            filters.published_from,
            filters.published_until,
        ),
        narrow=True,
    )
