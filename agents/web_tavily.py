"""Tavily, https://docs.tavily.com, asked by PydanticAI's own tool for it."""

import asyncio

import httpx
from pydantic_ai.common_tools.tavily import TavilySearchTool
from tavily import AsyncTavilyClient, BadRequestError, InvalidAPIKeyError, UsageLimitExceededError
from tavily.errors import ForbiddenError
from tavily.errors import TimeoutError as TookTooLong

from agents.web_search import MOST_RESULTS, SECONDS, WebResult, WebSearch, WebSearchError

TAVILY = "https://api.tavily.com"


class Tavily(WebSearch):
    """One search is one credit (`search_depth` basic, the default)."""

    def __init__(self, key: str, *, url: str = TAVILY) -> None:
        super().__init__("Tavily", url)
        self._key = key
        self._url = url

    async def _found(self, query: str) -> list[WebResult]:
        try:
            # The client's own limit for an answer is a minute, and the tool passes none on.
            async with (
                asyncio.timeout(SECONDS),
                AsyncTavilyClient(self._key, api_base_url=self._url) as client,
            ):
                results = await TavilySearchTool(client=client, max_results=MOST_RESULTS)(query)
        except (InvalidAPIKeyError, ForbiddenError) as error:
            said = str(error) or type(error).__name__
            raise WebSearchError("refused", f"it takes no search ({said}): see TAVILY_API_KEY") from None
        except UsageLimitExceededError as error:
            raise WebSearchError("busy", f"too many searches for now ({error})") from None
        except (httpx.HTTPError, TookTooLong, TimeoutError) as error:
            raise WebSearchError("away", f"no answer ({error or type(error).__name__})") from None
        except (BadRequestError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise WebSearchError(
                "unreadable", f"its answer is of no use ({error or type(error).__name__})"
            ) from None
        return [WebResult.of(each["url"], each["title"], each["content"]) for each in results]
