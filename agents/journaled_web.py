"""The web of one run: what was found and read is kept, and given again to a run that starts anew."""

import logging
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, TypeAdapter

from agents.desk import Web
from agents.journal import once
from agents.web_search import WebResult, WebSearchError
from knowledge.files import LoadError
from knowledge.journal import Journal
from knowledge.search import Passage

log = logging.getLogger(__name__)


class NotHad(BaseModel):
    """What the web did not give. `reason` is for the model that asked, "" where the code says all."""

    code: Literal["search_failed", "unreadable"]
    reason: str = ""


_RESULTS = TypeAdapter(list[WebResult] | NotHad)
_PAGE = TypeAdapter(list[Passage] | NotHad)


@dataclass
class JournaledWeb:
    """The web of one run. What was found and read, and what could not be, is so again."""

    web: Web
    journal: Journal | None
    step: str
    _asked: int = field(default=0, init=False)

    async def search(self, query: str) -> list[WebResult] | NotHad:
        """As `WebSearch.search`; what it raises is a value."""

        async def search() -> list[WebResult] | NotHad:
            try:
                return await self.web.search.search(query)
            except WebSearchError:  # it has been said
                return NotHad(code="search_failed")

        return await once(self.journal, self._step(), self._next(), ["search", query], _RESULTS, search)

    async def read(self, url: str, question: str, *, most: int) -> list[Passage] | NotHad:
        """As `Pages.read`; what it raises is a value."""

        async def read() -> list[Passage] | NotHad:
            try:
                return await self.web.pages.read(url, question, most=most, article_id=self.web.article_id)
            except LoadError as error:
                log.info("%s cannot be read: %s", url, error)
                return NotHad(code="unreadable", reason=str(error))

        asked: list[str | int] = ["read", url, question, most]
        return await once(self.journal, self._step(), self._next(), asked, _PAGE, read)

    def _step(self) -> str:
        return f"{self.step}:web"

    def _next(self) -> int:
        self._asked += 1
        return self._asked - 1
