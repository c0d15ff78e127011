"""Web search: who is asked, what comes back, and what it means when nothing does."""

import logging
from abc import ABC, abstractmethod
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from knowledge.database import storable

log = logging.getLogger(__name__)

MOST_RESULTS = 8
SECONDS = 20.0  # for one search, the whole answer
LONGEST_TITLE = 200  # characters
LONGEST_SNIPPET = 400
LONGEST_ADDRESS = 2_000

Trouble = Literal["refused", "busy", "away", "unreadable"]


class WebSearchError(Exception):
    """A search that gave nothing to go on. The message says why, for whoever runs the bot."""

    def __init__(self, code: Trouble, message: str) -> None:
        super().__init__(_one_line(message, LONGEST_SNIPPET))
        self.code = code


class WebResult(BaseModel):
    """An address, and what the search says of it. No source: nobody has read it yet."""

    model_config = ConfigDict(frozen=True)

    url: str
    title: str
    snippet: str

    @classmethod
    def of(cls, url: str, title: str, snippet: str) -> "WebResult":
        """As a search gave it: on one line each, no longer than a model needs to choose."""
        return cls(
            url=storable(url.strip()),
            title=_one_line(title, LONGEST_TITLE),
            snippet=_one_line(snippet, LONGEST_SNIPPET),
        )


class WebSearch(ABC):
    """Somebody who can be asked where on the web to look. All that is sent of an article is the query."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.host = urlsplit(url).netloc
        self._trouble: Trouble | None = None

    async def search(self, query: str) -> list[WebResult]:
        """At most 8 addresses, best first, each once. Raises WebSearchError.

        What is wrong is logged once, until it is something else or over.
        """
        try:
            found = await self._found(query)
        except WebSearchError as error:
            if error.code != self._trouble:
                log.warning("web search by %s (%s) fails: %s", self.name, self.host, error)
            self._trouble = error.code
            raise
        if self._trouble is not None:
            log.info("web search by %s (%s) works again", self.name, self.host)
        self._trouble = None
        first: dict[str, WebResult] = {}
        for result in found:
            if result.url.startswith(("http://", "https://")) and len(result.url) <= LONGEST_ADDRESS:
                first.setdefault(result.url, result)
        return [*first.values()][:MOST_RESULTS]

    @abstractmethod
    async def _found(self, query: str) -> list[WebResult]: ...


def _one_line(text: str, longest: int) -> str:
    line = " ".join(storable(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
