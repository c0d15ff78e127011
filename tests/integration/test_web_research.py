"""Research that may look on the web: over the wires, on a real database; the researcher follows a script."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents.account import Account
from agents.contracts import ResearchResult
from agents.desk import Desk, Web
from agents.errors import AgentError
from agents.models import Models
from agents.prompt import instructions
from agents.researcher import research
from agents.web import MOST_PAGES, MOST_SEARCHES, PAGE_PASSAGES
from agents.web_searxng import SearXNG
from knowledge.article import Article, Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.fetch import FetchLimits
from knowledge.language import Language
from knowledge.pages import Pages
from knowledge.search import Search
from tests.integration.test_tools import TEXTS, TOPICS, searches
from tests.web_hosts import Hit, SearxHost, Site, refused

Call = tuple[str, dict[str, Any]]

PAGES: dict[Language, tuple[str, str]] = {
    "en": (
        "<html><head><title>Peppers</title></head><body><article><h1>Peppers</h1><p>A pepper is a key that "
        "is kept outside the database, in a vault or a hardware module. Every password is keyed with it "
        "before it is hashed, so that a stolen table alone is of no use.</p></article></body></html>",
        "A pepper is a key that is kept outside the database, in a vault or a hardware module.",
    ),
    "zh": (
        "# 胡椒\n\n胡椒是保存在数据库之外的密钥，例如放在密钥库或硬件模块中。口令在散列之前先用它加密。",
        "胡椒是保存在数据库之外的密钥，例如放在密钥库或硬件模块中。",
    ),
    "ja": (
        "# ペッパー\n\nペッパーとは、データベースの外に保管する鍵である。保管庫やハードウェアに置く。",
        "ペッパーとは、データベースの外に保管する鍵である。",
    ),
}
QUESTIONS: dict[Language, str] = {
    "en": "What is a pepper?",
    "zh": "胡椒是什么密钥",
    "ja": "ペッパーとは何の鍵か",
}
LANGUAGES = pytest.mark.parametrize("language", PAGES)
HERE = FetchLimits(private_hosts=frozenset({"127.0.0.1"}))


class Scripted:
    """Makes these turns of calls, then reports; as formatter it finds each quote in the source beside it.

    `read` is what the tools gave, `told` what was sent back to it.
    """

    def __init__(self, *turns: Sequence[Call], quotes: Sequence[tuple[str, str]] = ()) -> None:
        self.model = FunctionModel(self._answer, model_name="scripted")
        self.read: list[dict[str, Any]] = []
        self.told: list[str] = []
        self.infos: list[AgentInfo] = []
        self.breaks = False  # instead of reporting
        self._turns = list(turns)
        self._quotes = quotes

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.output_tools:
            findings = [
                {"claim": quote, "source_id": source, "confidence": "high", "quote": quote}
                for source, quote in self._quotes
            ]
            answer = {"findings": findings, "gaps": [], "summary": "Short."}
            return ModelResponse(parts=[ToolCallPart("return_findings", answer)])
        self.infos.append(info)
        asked = sum(isinstance(message, ModelResponse) for message in messages)
        if isinstance(messages[-1], ModelRequest):
            for part in messages[-1].parts:
                if isinstance(part, UserPromptPart) and asked:
                    self.told.append(str(part.content))
                elif isinstance(part, ToolReturnPart) and part.outcome == "retried":
                    self.told.append(part.model_response_str())
                elif isinstance(part, ToolReturnPart):
                    self.read.append(json.loads(part.model_response_str()))
        if asked < len(self._turns):
            return ModelResponse(parts=[ToolCallPart(*call) for call in self._turns[asked]])
        if self.breaks:
            raise RuntimeError("the worker dies")
        return ModelResponse(parts=[TextPart('Findings\n[S1] (high) … — "…"\nGaps\nNothing more.')])


@dataclass
class Room:
    """The base and an article; a search engine and a site that it may lead to."""

    pool: Pool
    article: Article
    engine: SearxHost
    site: Site

    def desk(self, scripted: Scripted) -> Desk:
        model = scripted.model
        models = Models(research=model, formatter=model, analysis=model, writer=model, reviewer=model)
        pages = Pages(self.pool, Documents(self.pool, limits=HERE))
        return Desk(
            models,
            Search(self.pool, None).for_article(self.article.id),
            Account(),
            lambda progress: None,
            web=Web(SearXNG(self.engine.url), pages, self.article.id),
        )

    async def research(self, scripted: Scripted, language: Language = "en") -> ResearchResult:
        return await research(
            TOPICS[language][0], language, questions=[], previous=None, desk=self.desk(scripted)
        )

    def leads_to(self, *paths: str) -> None:
        """What the engine finds from here on."""
        self.engine.hits = [Hit(f"{self.site.url}{path}", f"Title of {path}", "Snippet.") for path in paths]


@pytest.fixture
async def room(pool: Pool, tmp_path: Path) -> AsyncIterator[Room]:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    await Documents(pool).ingest([tmp_path])
    article = await add_article(pool)
    pages = {f"/{language}": page for language, (page, _) in PAGES.items()}
    async with SearxHost() as engine, Site(pages=pages) as site:
        yield Room(pool, article, engine, site)


async def add_article(pool: Pool) -> Article:
    new = NewArticle("Salts", "en", Mode.SUPERVISED, "T1", "C1", "U1")
    return await Articles(pool).add(new, first_messages=lambda article: [])


def looks(query: str) -> Call:
    return "web_search", {"query": query}


def reads(result_id: str, question: str = "pepper") -> Call:
    return "read_page", {"result_id": result_id, "question": question}


@LANGUAGES
async def test_a_page_that_was_read_is_a_source_like_any_other(room: Room, language: Language) -> None:
    topic, in_base = TOPICS[language]
    _, on_page = PAGES[language]
    room.leads_to(f"/{language}")
    scripted = Scripted(
        [searches(topic)],
        [looks(QUESTIONS[language])],
        [reads("W1", QUESTIONS[language])],
        quotes=[("S1", in_base), ("S2", on_page)],
    )
    result = await room.research(scripted, language)

    assert room.engine.queries == [QUESTIONS[language]]
    assert room.site.requests == [f"/{language}"]
    assert [finding.quote for finding in result.findings] == [in_base, on_page]
    assert result.gaps == []
    page = result.sources[1]
    assert (page.id, page.url, page.verified) == ("S2", f"{room.site.url}/{language}", True)
    assert result.searches == 2
    # The model got the address with an id, then passages of the usual shape.
    _, found, read = scripted.read
    assert found["results"] == [
        {
            "result_id": "W1",
            "title": f"Title of /{language}",
            "host": room.site.url.removeprefix("http://"),
            "snippet": "Snippet.",
        }
    ]
    assert {passage["source_id"] for passage in read["passages"]} == {"S2"}

    row = await room.pool.fetchrow("select * from documents where id = $1", page.document_id)
    assert row is not None
    assert (row["article_id"], row["collection"]) == (room.article.id, "web")


async def test_what_one_article_has_read_is_not_found_by_another(room: Room) -> None:
    room.leads_to("/en")
    _, quote = PAGES["en"]
    await room.research(
        Scripted([searches("salt")], [looks("pepper")], [reads("W1")], quotes=[("S2", quote)])
    )
    other = await add_article(room.pool)
    search = Search(room.pool, None)
    assert [passage.title for passage in await search.for_article(room.article.id).search("pepper vault")]
    assert await search.for_article(other.id).search("pepper vault") == []
    assert await search.search("pepper vault") == []


async def test_a_page_of_the_base_is_read_there_and_stays_one_source(room: Room) -> None:
    documents = Documents(room.pool, limits=HERE)
    added = await documents.add_page(f"{room.site.url}/en")
    room.site.pages["/en"] = "# Changed\n\nSince then."
    room.leads_to("/en?utm_source=engine#top")
    _, quote = PAGES["en"]
    scripted = Scripted(
        [searches("pepper")], [looks("pepper")], [reads("W1")], quotes=[("S1", quote), ("S2", quote)]
    )
    result = await room.research(scripted)
    assert [source.document_id for source in result.sources] == [added.document_id]
    assert room.site.requests == ["/en"]


@LANGUAGES
async def test_what_only_a_search_says_is_no_source(room: Room, language: Language) -> None:
    _, quote = PAGES[language]
    room.engine.hits = [Hit(f"{room.site.url}/{language}", quote, quote)]
    topic, in_base = TOPICS[language]
    scripted = Scripted(
        [searches(topic)],
        [looks(topic)],
        quotes=[("S1", in_base), ("W1", quote), ("S2", quote)],
    )
    result = await room.research(scripted, language)
    assert quote in json.dumps(scripted.read, ensure_ascii=False)
    assert [finding.quote for finding in result.findings] == [in_base]
    assert len(result.gaps) == 1
    assert [source.id for source in result.sources] == ["S1"]
    assert room.site.requests == []
    assert await room.pool.fetchval("select count(*) from documents where collection = 'web'") == 0


async def test_an_address_keeps_its_id_through_all_searches(room: Room) -> None:
    room.leads_to("/en", "/zh")
    again = Scripted([looks("salt"), searches("salt")], [looks("盐")], quotes=[("S1", TOPICS["en"][1])])
    await room.research(again)
    first, _, second = again.read
    assert [result["result_id"] for result in first["results"]] == ["W1", "W2"]
    assert second == first


async def test_long_pages_come_in_the_passages_that_answer(room: Room) -> None:
    filler = "Nothing of interest stands in this part of the page, whoever reads it. " * 12
    parts = [f"## Part {number}\n\n{filler}" for number in range(20)]
    parts[15] += " A pepper lies in a vault."
    room.site.pages["/long"] = "# Long\n\n" + "\n\n".join(parts)
    room.leads_to("/long")
    scripted = Scripted(
        [searches("salt"), looks("pepper")],
        [reads("W1", "Where does a pepper lie?")],
        quotes=[("S2", "A pepper lies in a vault.")],
    )
    result = await room.research(scripted)
    passages = scripted.read[-1]["passages"]
    assert 1 < len(passages) <= PAGE_PASSAGES
    assert any("pepper" in passage["text"] for passage in passages)
    ids = [int(passage["passage_id"][1:]) for passage in passages]
    assert ids == sorted(ids)
    assert result.findings[0].quote == "A pepper lies in a vault."


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/gone", "404"), ("/empty", ""), ("/picture", "image/png"), ("/away", "private")],
)
async def test_a_page_that_cannot_be_read_is_a_value_with_its_reason(
    room: Room, path: str, reason: str
) -> None:
    room.site.pages["/empty"] = "<html><body></body></html>"

    def other(request: web.Request) -> web.StreamResponse:
        if request.path == "/picture":
            return web.Response(body=b"\x89PNG", content_type="image/png")
        if request.path == "/away":
            raise web.HTTPFound("http://169.254.169.254/latest/meta-data/")
        page = room.site.pages.get(request.path)
        return web.Response(status=404) if page is None else web.Response(text=page, content_type="text/html")

    room.site.instead = other
    room.leads_to(path)
    topic, quote = TOPICS["en"]
    scripted = Scripted([searches(topic), looks("x")], [reads("W1")], quotes=[("S1", quote)])
    result = await room.research(scripted)
    *_, missed = scripted.read
    assert (missed["ok"], missed["code"]) == (False, "unreadable")
    assert reason in missed["advice"]
    assert [finding.quote for finding in result.findings] == [quote]
    assert await room.pool.fetchval("select count(*) from documents where collection = 'web'") == 0


async def test_an_engine_that_fails_costs_the_research_nothing(room: Room) -> None:
    room.engine.instead = lambda request: refused(429)
    topic, quote = TOPICS["en"]
    scripted = Scripted([searches(topic), looks("salt")], [looks("pepper")], quotes=[("S1", quote)])
    result = await room.research(scripted)
    assert [given.get("code") for given in scripted.read] == [None, "search_failed", "search_failed"]
    assert result.findings[0].quote == quote


async def test_an_engine_that_finds_nothing_is_a_value_too(room: Room) -> None:
    topic, quote = TOPICS["en"]
    scripted = Scripted([searches(topic), looks("鹽")], quotes=[("S1", quote)])
    await room.research(scripted)
    assert [given.get("code") for given in scripted.read] == [None, "nothing_found"]


async def test_searches_and_pages_are_counted(room: Room) -> None:
    room.site.pages |= {f"/{number}": f"# Page {number}\n\nA pepper of {number}." for number in range(8)}
    room.leads_to(*(f"/{number}" for number in range(8)))
    topic, quote = TOPICS["en"]
    scripted = Scripted(
        [searches(topic), *(looks(f"salt {number}") for number in range(MOST_SEARCHES + 2))],
        [reads(f"W{number}") for number in range(1, MOST_PAGES + 3)],
        [reads("W1"), looks("once more")],
        quotes=[("S1", quote)],
    )
    await room.research(scripted)
    codes = [given.get("code") for given in scripted.read]
    assert codes.count("no_searches_left") == 3
    assert codes.count("no_pages_left") == 3
    assert len(room.engine.queries) == MOST_SEARCHES
    assert room.site.requests == [f"/{number}" for number in range(MOST_PAGES)]


@pytest.mark.parametrize(
    "call",
    [
        ("read_page", {"result_id": "https://evil.example/?q=salt", "question": "x"}),
        ("read_page", {"url": "https://evil.example/", "question": "x"}),
        ("read_page", {"result_id": "W1"}),
        ("read_page", {"result_id": "W1", "question": ""}),
        ("web_search", {}),
        ("web_search", {"query": "盐" * 301}),
    ],
)
async def test_an_address_that_no_search_gave_cannot_be_read(room: Room, call: Call) -> None:
    room.leads_to("/en")
    topic, quote = TOPICS["en"]
    scripted = Scripted([searches(topic), looks("salt")], [call], quotes=[("S1", quote)])
    await room.research(scripted)
    [told] = scripted.told
    assert f"{call[0]} was not carried out" in told
    assert room.site.requests == []


async def test_an_id_that_no_result_has_is_a_value(room: Room) -> None:
    topic, quote = TOPICS["en"]
    scripted = Scripted([searches(topic), reads("W7")], quotes=[("S1", quote)])
    await room.research(scripted)
    assert [given.get("code") for given in scripted.read] == [None, "unknown_result"]


async def test_the_web_alone_is_no_research(room: Room) -> None:
    """The team's own documents come first: a report that never looked into them goes back."""
    room.leads_to("/en")
    scripted = Scripted([looks("pepper")], [reads("W1")])
    with pytest.raises(AgentError):
        await room.research(scripted)
    assert any("knowledge_search first" in told for told in scripted.told)


async def test_a_fault_while_a_page_is_kept_is_a_value_and_logged(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.leads_to("/en")
    await room.pool.execute("alter table documents rename column collection to elsewhere")
    topic, quote = TOPICS["en"]
    scripted = Scripted([searches(topic), looks("pepper")], [reads("W1")], quotes=[("S1", quote)])
    await room.research(scripted)
    assert scripted.read[-1]["code"] == "failed"
    assert "a web tool failed" in caplog.text


async def test_without_the_setting_nothing_of_it_reaches_the_model(room: Room) -> None:
    topic, quote = TOPICS["en"]
    seen = {}
    for allowed in (True, False):
        scripted = Scripted([searches(topic)], quotes=[("S1", quote)])
        desk = room.desk(scripted)
        await research(
            topic,
            "en",
            questions=[],
            previous=None,
            desk=desk if allowed else replace(desk, web=None),
        )
        info = scripted.infos[0]
        seen[allowed] = ([tool.name for tool in info.function_tools], info.instructions or "")
    assert seen[False] == (["knowledge_search", "read_source"], instructions("researcher"))
    assert seen[True][0] == ["knowledge_search", "read_source", "web_search", "read_page"]
    assert instructions("researcher_web") in seen[True][1]


@LANGUAGES
async def test_a_research_that_starts_again_searches_and_fetches_nothing_twice(
    room: Room, language: Language
) -> None:
    topic, in_base = TOPICS[language]
    _, on_page = PAGES[language]
    room.leads_to(f"/{language}", "/gone")
    turns = ([searches(topic), looks(topic)], [reads("W1", QUESTIONS[language]), reads("W2")])
    articles = Articles(room.pool)

    first = Scripted(*turns)
    first.breaks = True
    desk = replace(room.desk(first), journal=await articles.journal(room.article))
    with pytest.raises(RuntimeError):
        await research(topic, language, questions=[], previous=None, desk=desk)

    # Whatever the web says by now: the run goes on from what it was told.
    room.engine.instead = room.site.instead = lambda request: web.Response(status=500)
    second = Scripted(*turns, quotes=[("S1", in_base), ("S2", on_page)])
    desk = replace(room.desk(second), journal=await articles.journal(room.article))
    result = await research(topic, language, questions=[], previous=None, desk=desk)
    # Of the two turns it was not asked again either.
    assert len(second.infos) == 1
    assert len(room.engine.requests) == 1
    assert room.site.requests == [f"/{language}", "/gone"]
    assert second.read[-1]["code"] == first.read[-1]["code"] == "unreadable"
    assert [finding.quote for finding in result.findings] == [in_base, on_page]
