"""Ingest from the web: pages and documents, those that a sitemap names, and those on a list of addresses."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from knowledge.addresses import WebAddress, checked_url
from knowledge.cutters import cut_apart
from knowledge.database import Pool
from knowledge.fetch import FetchLimits, Gone, fetch_if_changed
from knowledge.files import LoadError
from knowledge.index import Origin, mark_seen, remove_pages, write
from knowledge.ingest_report import Tally
from knowledge.known import no_longer_here, validators_of
from knowledge.listing import MOST_PAGES, AddressList, read_list, read_sitemap
from knowledge.loaders import read_bytes
from knowledge.sources import BY_COMMAND_LINE

_AT_ONCE = 4  # so many pages are fetched side by side, mostly of one server

T = TypeVar("T")


@dataclass(frozen=True)
class _Page:
    """An address to fetch."""

    url: str
    listed_in: str | None = None  # the sitemap or list whose page it is
    may_list: bool = True  # whether a sitemap is expected there, too


@dataclass
class _Lists:
    """What sitemaps and lists name, for --prune."""

    named: dict[str, set[str]] = field(default_factory=dict)  # list -> the addresses on it
    broken: set[str] = field(default_factory=set)  # those that could not be read whole
    gone: set[str] = field(default_factory=set)  # addresses whose server says that there is nothing (more)
    unchanged: dict[_Page, str] = field(default_factory=dict)  # pages that were there already -> their hashes


async def ingest_pages(
    pool: Pool,
    places: Sequence[WebAddress | AddressList],
    tally: Tally,
    *,
    limits: FetchLimits,
    prune: bool,
) -> None:
    """Bring the base up to date with these addresses; each document is one transaction.

    A page that cannot be fetched keeps its last good text. `prune` removes pages whose server says that they
    are gone, and those that a sitemap or list named before and does not any more; one that cannot be read,
    or names nothing, is no wish to forget.
    """
    lists = _Lists()
    given: list[_Page] = []
    for place in places:
        given += await _of_list(place, tally, lists) if isinstance(place, AddressList) else [_Page(place.url)]
    taken: set[str] = set()

    async def take(page: _Page) -> list[_Page]:
        try:
            return await _take(pool, page, tally, lists, limits)
        except LoadError as error:
            if isinstance(error, Gone):
                lists.gone.add(str(checked_url(page.url)))
            if page.listed_in and page.may_list:
                lists.broken.add(page.listed_in)
            tally.failed(page.url, error)
            return []

    while given:
        wave = [*{page.url: page for page in reversed(given) if page.url not in taken}.values()][::-1]
        taken |= {page.url for page in wave}
        tally.expect(len(wave))
        given = [page for found in await _side_by_side(wave, take) for page in found]
    if prune:
        asked = set(_identities(taken))  # also by itself, or by another list
        unlisted = {
            name: urls | asked for name, urls in lists.named.items() if urls and name not in lists.broken
        }
        tally.report.removed += await remove_pages(pool, gone=lists.gone, unlisted=unlisted)
    unchanged = [(page, str(checked_url(page.url)), sha256) for page, sha256 in lists.unchanged.items()]
    again = await no_longer_here(pool, unchanged)
    tally.again(len(again))
    await _side_by_side(again, take)


async def _of_list(place: AddressList, tally: Tally, lists: _Lists) -> list[_Page]:
    name = str(place.path)
    try:
        urls, failed = read_list(await asyncio.to_thread(read_bytes, place.path), name)
    except LoadError as error:
        tally.expect(1)
        tally.failed(name, error)
        return []
    tally.report.failed += failed
    listed_in = str(await asyncio.to_thread(place.path.resolve))
    lists.named[listed_in] = set(urls)
    if failed:  # perhaps the address of a page that is here
        lists.broken.add(listed_in)
    return [_Page(url, listed_in, may_list=False) for url in urls]


async def _take(pool: Pool, page: _Page, tally: Tally, lists: _Lists, limits: FetchLimits) -> list[_Page]:
    """Put one page in; of a sitemap, return what it names. Raises LoadError."""
    url = str(checked_url(page.url))
    fetched = await fetch_if_changed(url, await validators_of(pool, url), limits=limits)
    if fetched is None:
        await mark_seen(pool, Origin(url, path=None, listed_in=page.listed_in))
        tally.wrote(page.url, "unchanged", 0)
        return []
    sitemap = read_sitemap(fetched) if page.may_list else None
    if sitemap is not None:
        name = page.listed_in or url
        named = lists.named.setdefault(name, set())
        named.update(_identities(sitemap.pages))
        if len(named) > MOST_PAGES:
            raise LoadError(f"more than {MOST_PAGES} pages: name the sitemaps of its parts instead")
        if not sitemap.pages and not sitemap.sitemaps:
            raise LoadError("a sitemap that names no page of its own host")
        if sitemap.sitemaps and page.listed_in:
            raise LoadError("an index of sitemaps inside another one: give its address itself")
        tally.expect(-1)  # it is no document
        return [
            *(_Page(each, name, may_list=False) for each in sitemap.pages),
            *(_Page(each, name) for each in sitemap.sitemaps),
        ]
    ready = await cut_apart(fetched)
    origin = Origin(url, path=None, listed_in=page.listed_in, validators=fetched.validators)
    async with pool.acquire() as connection, connection.transaction():
        added = await write(connection, origin, ready, BY_COMMAND_LINE)
    if added.written == "unchanged":
        await mark_seen(pool, origin)
        lists.unchanged[page] = ready.loaded.sha256
    tally.wrote(page.url, added.written, added.chunks)
    return []


def _identities(urls: Iterable[str]) -> Iterator[str]:
    """Addresses as documents are named by them; what is none is told when it is to be fetched."""
    for url in urls:
        with suppress(LoadError):
            yield str(checked_url(url))


async def _side_by_side(
    pages: Sequence[_Page], take: Callable[[_Page], Awaitable[list[_Page]]]
) -> list[list[_Page]]:
    """What `take` gives for each, some at a time. The first error that it raises ends all."""
    waiting = iter(pages)
    found: list[list[_Page]] = []

    async def one_after_another() -> None:
        for page in waiting:
            found.append(await take(page))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(one_after_another())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return found
