"""A search engine of one's own: SearXNG, https://docs.searxng.org/dev/search_api.html."""

import json

import aiohttp
from pydantic import BaseModel, TypeAdapter

from agents.web_search import SECONDS, WebResult, WebSearch, WebSearchError

_MOST_BYTES = 2_000_000  # of an answer


class _Result(BaseModel):
    url: str
    title: str = ""
    content: str | None = None


_RESULTS = TypeAdapter(list[_Result])


class SearXNG(WebSearch):
    """An instance at an address; `json` has to be among the formats of its settings."""

    def __init__(self, url: str) -> None:
        super().__init__("SearXNG", url)
        self._url = f"{url.rstrip('/')}/search"

    async def _found(self, query: str) -> list[WebResult]:
        answer = await self._answer(query)
        try:
            results = _RESULTS.validate_python(json.loads(answer)["results"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise WebSearchError("unreadable", "its answer is not SearXNG's JSON") from None
        return [WebResult.of(each.url, each.title, each.content or "") for each in results]

    async def _answer(self, query: str) -> bytes:
        answer = bytearray()
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session,
                session.get(
                    self._url, params={"q": query, "format": "json"}, allow_redirects=False
                ) as response,
            ):
                _check(response.status)
                async for piece in response.content.iter_chunked(1 << 16):
                    answer += piece
                    if len(answer) > _MOST_BYTES:
                        raise WebSearchError("unreadable", f"its answer is over {_MOST_BYTES / 1e6:g} MB")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise WebSearchError("away", f"no answer ({error or type(error).__name__})") from None
        return bytes(answer)


def _check(status: int) -> None:
    if status == 200:
        return
    if status == 429:
        raise WebSearchError("busy", "too many searches for now (429): its limiter has to let the bot in")
    if status in (401, 403):
        raise WebSearchError("refused", f"it refuses ({status}): `json` has to be in its search.formats")
    raise WebSearchError("away" if status >= 500 else "unreadable", f"it answers {status}")
