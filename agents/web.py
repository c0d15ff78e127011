"""The web as a second place to look, where the settings allow it: two tools, and what goes with them."""

import logging
from collections.abc import Awaitable, Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field
from pydantic_ai import RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset

from agents.journaled_web import JournaledWeb, NotHad
from agents.prompt import instructions
from agents.reading import Passages, Reading
from agents.tools import LAST_WORD, LONGEST_QUERY, Arguments, Query, is_due
from agents.web_search import LONGEST_SNIPPET, LONGEST_TITLE, WebResult
from knowledge.changes import Moved

log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_SEARCHES = 6  # of one research
MOST_PAGES = 6
PAGE_PASSAGES = 6
_LONGEST_REASON = 300  # characters


class WebResultRead(BaseModel):
    """An address on the web and what the search says of it: no evidence until it has been read."""

    result_id: str = Field(pattern=r"^W[1-9][0-9]*$")
    title: str = Field(max_length=LONGEST_TITLE)
    host: str
    snippet: str = Field(max_length=LONGEST_SNIPPET)


class WebResults(BaseModel):
    """What was found, best first."""

    ok: Literal[True] = True
    results: list[WebResultRead]


class WebMissed(BaseModel):
    """Nothing to read, and what can be done."""

    ok: Literal[False] = False
    code: Literal[
        "nothing_found",
        "search_failed",
        "no_searches_left",
        "unknown_result",
        "unreadable",
        "no_pages_left",
        "no_steps_left",
        "failed",
    ]
    advice: str


class WebSearchArguments(Arguments):
    query: Query


class PageArguments(Arguments):
    result_id: str = Field(
        pattern=r"^W[1-9][0-9]{0,3}$", description="The id of a result that `web_search` gave, such as W2."
    )
    question: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_QUERY,
            description=f"What to look for on it, 1 to {LONGEST_QUERY} characters, in the page's language.",
        ),
    ]


WEB_ARGUMENTS: Mapping[str, type[Arguments]] = {"web_search": WebSearchArguments, "read_page": PageArguments}


class WebResearch(AbstractCapability[Reading]):
    """Gives one run of the researcher the web: two tools and their instructions.

    A page is read by the id of a result, never by an address that a model writes: else a text that it has
    read could have it carry what the team knows to somebody's server, in the address.
    """

    def __init__(self, web: JournaledWeb) -> None:
        self._web = web
        self._results: list[WebResult] = []  # W1 is the first
        self._searches = 0
        self._pages = 0

    def get_instructions(self) -> str:
        return instructions("researcher_web")

    def get_toolset(self) -> FunctionToolset[Reading]:
        # One after the other and not strict, as `agents.tools.TOOLS`.
        return FunctionToolset(
            [
                Tool(self.web_search, takes_ctx=True, sequential=True, strict=False),
                Tool(self.read_page, takes_ctx=True, sequential=True, strict=False),
            ]
        )

    async def web_search(self, ctx: RunContext[Reading], asked: WebSearchArguments) -> WebResults | WebMissed:
        """Search the web. The query leaves the team's machine.

        Gives up to 8 addresses, which are no evidence: read those that look best with `read_page`. `ok` is
        false with a code: `nothing_found`, `search_failed` when the search cannot be had now,
        `no_searches_left`, `no_steps_left` when the report is due.
        """
        if is_due(ctx):
            return _no_steps_left()
        if self._searches >= MOST_SEARCHES:
            return WebMissed(code="no_searches_left", advice="Read what was found, or write the report.")
        self._searches += 1
        ctx.deps.looks_on_the_web(asked.query)
        found = await self._carried_out(self._web.search(asked.query))
        if found is None or isinstance(found, NotHad):
            code: Literal["failed", "search_failed"] = "failed" if found is None else "search_failed"
            return WebMissed(
                code=code, advice="The web cannot be searched now. Go on with the knowledge base."
            )
        if not found:
            return WebMissed(code="nothing_found", advice="Try other words, fewer of them, or English.")
        return WebResults(results=[self._as_seen(result) for result in found])

    async def read_page(self, ctx: RunContext[Reading], asked: PageArguments) -> Passages | WebMissed:
        """Fetch a page that `web_search` found, and get its passages on a question, in reading order.

        They are evidence as those of `knowledge_search` are; `read_source` reads on around them. `ok` is
        false with a code: `unknown_result` for an id that no result has, `unreadable` when the page cannot be
        fetched or has no text, `no_pages_left`, `no_steps_left` when the report is due.
        """
        if is_due(ctx):
            return _no_steps_left()
        number = int(asked.result_id[1:])
        if number > len(self._results):
            return WebMissed(code="unknown_result", advice="Name the result_id of a result.")
        if self._pages >= MOST_PAGES:
            return WebMissed(code="no_pages_left", advice=LAST_WORD)
        self._pages += 1
        url = self._results[number - 1].url
        found = await self._carried_out(self._web.read(url, asked.question, most=PAGE_PASSAGES))
        if isinstance(found, NotHad):
            advice = f"The page cannot be read: {found.reason[:_LONGEST_REASON]}. Read another one."
            return WebMissed(code="unreadable", advice=advice)
        read = ctx.deps.record(found or [])
        if not read.passages:
            return WebMissed(code="failed", advice="The page cannot be read. Read another one.")
        return read

    async def _carried_out(self, call: Awaitable[T]) -> T | None:
        """What a call gives; None after an unforeseen fault, which is logged: research goes on without it."""
        try:
            return await call
        except Moved:
            raise  # the article has: nobody waits for this research any more
        except Exception:
            log.warning("a web tool failed", exc_info=True)
            return None

    def _as_seen(self, result: WebResult) -> WebResultRead:
        """The same address keeps its id."""
        known = next((at for at, one in enumerate(self._results) if one.url == result.url), None)
        if known is None:
            known = len(self._results)
            self._results.append(result)
        host = result.url.split("/")[2]
        return WebResultRead(result_id=f"W{known + 1}", title=result.title, host=host, snippet=result.snippet)


def _no_steps_left() -> WebMissed:
    return WebMissed(code="no_steps_left", advice=LAST_WORD)
