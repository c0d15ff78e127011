"""The tools of research on a real database: cancelled in a query, a fault in it, huge documents."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents.account import Account, Budget
from agents.contracts import ResearchResult
from agents.desk import Desk
from agents.errors import AgentError
from agents.models import Models
from agents.reading import LONGEST_LABEL
from agents.researcher import research
from bot import legs
from bot.blocks import draw
from bot.decisions import Limits
from bot.legs import Legs
from bot.messages import MESSAGE, StatusMessage
from knowledge.article import Article, Mode, Status
from knowledge.articles import Articles
from knowledge.changes import NewArticle
from knowledge.chunks import LIMIT
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.language import Language, language_of
from knowledge.model_record import ModelRecord
from knowledge.search import Search
from knowledge.shared_sources import SharedSources
from knowledge.similar import SimilarArticles

TEXTS = {
    "salt.md": "# Salts\n\nA salt is a random value, unique for each password.",
    "argon2.md": "# Argon2id 参数\n\nArgon2id 的内存参数至少为 19 MiB，迭代次数为 2，并行度为 1。",
    "rotation.md": "# 鍵のローテーション\n\n暗号鍵は一年ごとに交換し、古い鍵は復号だけに使う。",
}
TOPICS: dict[Language, tuple[str, str]] = {
    "en": ("A salt for each password", "A salt is a random value, unique for each password."),
    "zh": ("Argon2id 的内存参数", "Argon2id 的内存参数至少为 19 MiB，迭代次数为 2，并行度为 1。"),
    "ja": ("暗号鍵の交換", "暗号鍵は一年ごとに交換し、古い鍵は復号だけに使う。"),
}
WAITING = """
    select count(*) from pg_stat_activity
    where datname = current_database() and application_name = 'copydesk' and wait_event_type = 'Lock'
"""

Call = tuple[str, dict[str, Any]]
Meanwhile = Callable[[], Awaitable[object]]


class Researcher:
    """Makes these calls, a turn each, then reports; what happens meanwhile happens before the next turn.

    As formatter it finds `quote` in the first source. `read` is what the tools gave it.
    """

    def __init__(self, *turns: Call | Meanwhile, quote: str = "") -> None:
        self.read: list[dict[str, Any]] = []
        self.model = FunctionModel(self._answer, model_name="scripted")
        self._turns = list(turns)
        self._quote = quote

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.output_tools:
            finding = {"claim": self._quote, "source_id": "S1", "confidence": "high", "quote": self._quote}
            answer = {"findings": [finding], "gaps": [], "summary": "Short."}
            return ModelResponse(parts=[ToolCallPart("return_findings", answer)])
        if isinstance(messages[-1], ModelRequest):
            returns = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
            self.read += [json.loads(part.model_response_str()) for part in returns]
        while self._turns:
            turn = self._turns.pop(0)
            if isinstance(turn, tuple):
                return ModelResponse(parts=[ToolCallPart(*turn)])
            await turn()
        return ModelResponse(parts=[TextPart("Findings\nGaps\nNothing more.")])

    def models(self) -> Models:
        model = self.model
        return Models(research=model, formatter=model, analysis=model, writer=model, reviewer=model)

    async def research(self, topic: str, pool: Pool) -> ResearchResult:
        desk = Desk(self.models(), Search(pool, None), Account(), lambda progress: None)
        return await research(topic, language_of(topic), questions=[], previous=None, desk=desk)


def searches(*queries: str, k: int = 5) -> Call:
    return "knowledge_search", {"queries": [*queries], "k": k}


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(2_000):
        if await true():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not come to be within 20 s")


@pytest.fixture
async def filled(pool: Pool, tmp_path: Path) -> Pool:
    """A base with a document in each language."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    await Documents(pool).ingest([tmp_path / name for name in TEXTS])
    return pool


@pytest.mark.parametrize("language", TOPICS)
async def test_cancelling_a_research_ends_its_queries_and_gives_the_connections_back(
    filled: Pool, dsn: str, language: Language
) -> None:
    topic, quote = TOPICS[language]
    researcher = Researcher(searches(topic, "salt", "参数", "鍵"))
    # Two: inside a transaction pg_stat_activity does not change.
    holder, observer = await asyncpg.connect(dsn), await asyncpg.connect(dsn)

    async def waiting(number: int) -> bool:
        return bool(await observer.fetchval(WAITING) == number)

    try:
        async with holder.transaction():
            await holder.execute("lock table chunk_words in access exclusive mode")
            run = asyncio.create_task(researcher.research(topic, filled))
            await until(lambda: waiting(4))
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            # The lock is still held: nothing but the cancellation can have ended them.
            await until(lambda: waiting(0))
    finally:
        await holder.close()
        await observer.close()
    async with asyncio.timeout(10):
        connections = [await filled.acquire() for _ in range(filled.get_max_size())]
    assert [await connection.fetchval("select 1") for connection in connections] == [1] * len(connections)
    for connection in connections:
        await filled.release(connection)
    again = Researcher(searches(topic), quote=quote)
    assert (await again.research(topic, filled)).findings[0].quote == quote


@pytest.mark.parametrize("language", TOPICS)
async def test_a_fault_of_the_database_is_told_once_and_the_research_goes_on(
    filled: Pool, language: Language
) -> None:
    topic, quote = TOPICS[language]
    await filled.execute("alter table chunk_words rename to elsewhere")

    async def mend() -> None:
        await filled.execute("alter table elsewhere rename to chunk_words")

    researcher = Researcher(searches(topic), mend, searches(topic), quote=quote)
    result = await researcher.research(topic, filled)
    assert result.findings[0].quote == quote
    assert [given.get("code") for given in researcher.read] == ["failed", None]


async def test_a_fault_that_stays_ends_the_research_in_one_sentence(filled: Pool) -> None:
    await filled.execute("alter table chunk_words rename to elsewhere")
    with pytest.raises(AgentError, match="could not be searched, twice") as failed:
        await Researcher(*[searches("salt")] * 7).research("salt", filled)
    assert failed.value.code == "search_failed"
    assert isinstance(failed.value.__cause__, asyncpg.UndefinedTableError)


@pytest.mark.parametrize(
    "query", ["\x00", "MD5\x00鍵", "？！", "👩", "'; drop table chunks; --", "the of and"]
)
async def test_a_query_of_strange_characters_is_at_worst_one_that_finds_nothing(
    filled: Pool, query: str
) -> None:
    topic, quote = TOPICS["en"]
    researcher = Researcher(searches(topic), searches(query), quote=quote)
    await researcher.research(topic, filled)
    usual, strange = researcher.read
    assert usual["ok"]
    assert strange["ok"] or strange["code"] == "nothing_found"


async def test_a_source_is_read_on_under_the_ids_of_the_search(pool: Pool, tmp_path: Path) -> None:
    words = "A salt is a random value. " * 40
    (tmp_path / "long.md").write_text(
        "# Salts\n\n" + "\n\n".join(f"## Part {n}\n\n{words}" for n in range(6))
    )
    await Documents(pool).ingest([tmp_path])
    second = await pool.fetchval("select id from chunks where position = 1")
    researcher = Researcher(
        searches("salt random value", k=10),
        ("read_source", {"passage_id": f"P{second}"}),
        ("read_source", {"passage_id": f"P{second}", "before": 0, "after": 3}),
        quote="A salt is a random value.",
    )
    await researcher.research("salt", pool)
    of_search, around, after = (
        {passage["passage_id"]: passage["source_id"] for passage in given["passages"]}
        for given in researcher.read
    )
    assert [*around] == [f"P{second + step}" for step in (-1, 0, 1)]
    assert [*after] == [f"P{second + step}" for step in (0, 1, 2, 3)]
    assert {*of_search.values(), *around.values(), *after.values()} == {"S1"}
    assert of_search.items() >= around.items()


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [
        ("salt random value", "A salt numbered {} is a random value. "),
        ("盐 随机值", "第{}号盐是随机值，每个密码都不同。"),
        ("ソルト 乱数", "{}番のソルトはパスワードごとの乱数である。"),
    ],
)
async def test_neighbours_under_the_same_headings_are_read_as_one(
    pool: Pool, tmp_path: Path, topic: str, sentence: str
) -> None:
    sentences = [sentence.format(number) for number in range(100)]
    (tmp_path / "long.md").write_text(f"# Salts\n\n{''.join(sentences)}\n\n## Peppers\n\n{sentences[0]}")
    await Documents(pool).ingest([tmp_path])
    chunks = await pool.fetch("select id, text from chunks order by position limit 3")
    researcher = Researcher(
        searches(topic, k=10),
        ("read_source", {"passage_id": f"P{chunks[1]['id']}"}),
        quote=sentences[40].strip(),
    )
    result = await researcher.research(topic, pool)
    [*around] = researcher.read[1]["passages"]
    assert len(around) < 3
    texts = "\n\n".join(passage["text"] for passage in around)
    assert texts == "\n\n".join(chunk["text"] for chunk in chunks)
    [finding] = result.findings
    assert finding.quote == sentences[40].strip()
    assert finding.chunk_id in {chunk["id"] for chunk in chunks}


@pytest.mark.parametrize(
    "document",
    [
        "A salt is random.\n\n## {}\n\nA pepper is a salt that is secret.",  # a heading between two sections
        "# {}\n\nA salt is random.",
        "A salt is random.{}A pepper is a salt that is secret.",
    ],
)
@pytest.mark.parametrize("filler", ["salt ", "盐", "塩", "\n"])
async def test_a_document_that_is_huge_in_one_place_comes_to_the_model_in_pieces_of_the_usual_size(
    pool: Pool, tmp_path: Path, document: str, filler: str
) -> None:
    (tmp_path / "huge.md").write_text(document.format(filler * (100_000 // len(filler))))
    await Documents(pool).ingest([tmp_path])
    researcher = Researcher(searches("a salt is random", "盐", "塩", k=10))
    with pytest.raises(AgentError, match="none of its quotes"):  # it makes no finding of them
        await researcher.research("salt", pool)
    (given,) = researcher.read
    assert given["passages"]
    for passage in given["passages"]:
        assert len(passage["text"]) <= LIMIT
        assert len(passage["heading"]) <= LONGEST_LABEL
        assert len(passage["title"]) <= LONGEST_LABEL


class Leg:
    """One research leg of an article, with its progress shown as often as can be."""

    def __init__(self, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(legs, "PROGRESS_EVERY_SECONDS", 0.01)
        self.shown: list[StatusMessage] = []
        self._pool = pool
        self._articles = Articles(pool)

    async def work(self, topic: str, language: Language, researcher: Researcher) -> Article:
        new = NewArticle(topic, language, Mode.SUPERVISED, "T1", "C1", "U1")
        article = await self._articles.add(new, first_messages=lambda article: [])
        leg = Legs(
            self._articles,
            SimilarArticles(self._pool),
            Search(self._pool, None),
            researcher.models(),
            Limits(max_reviews=3, max_research_rounds=2),
            shared=SharedSources(self._pool),
            record=ModelRecord(self._pool),
            budget=Budget(),
            prices={},
        )
        await leg.work(article.id, article.moves)
        after = await self._articles.get(article.id)
        assert after is not None
        return after

    async def says_what_is_searched(self) -> bool:
        stored = await self._articles.message("article:1:status")
        if stored is not None:
            message = MESSAGE.validate_python(stored[0])
            assert isinstance(message, StatusMessage)
            self.shown.append(message)
        return bool(self.shown and self.shown[-1].progress.queries)


@pytest.mark.parametrize("language", TOPICS)
async def test_the_message_of_an_article_says_what_is_searched_while_its_research_runs(
    filled: Pool, language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    leg = Leg(filled, monkeypatch)
    topic, quote = TOPICS[language]
    call = searches(topic, "<!channel> \x00*MD5*")
    await leg.work(topic, language, Researcher(call, lambda: until(leg.says_what_is_searched), quote=quote))
    drawn = draw(leg.shown[-1])
    assert leg.shown[-1].progress.searches == 2
    assert drawn.text.count(topic) == 2  # what the article is about, and what is searched
    assert "<!" not in drawn.text


@pytest.mark.parametrize("language", TOPICS)
async def test_progress_that_cannot_be_stored_costs_the_leg_nothing(
    filled: Pool, language: Language, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    leg = Leg(filled, monkeypatch)
    topic, quote = TOPICS[language]

    async def not_shown() -> bool:
        return "progress is not shown" in caplog.text

    async def break_outbox() -> None:  # before there is anything to show that has not been shown yet
        await filled.execute("alter table outbox rename to elsewhere")

    async def mend_outbox() -> None:
        await until(not_shown)
        await filled.execute("alter table elsewhere rename to outbox")

    researcher = Researcher(break_outbox, searches(topic), mend_outbox, searches("MD5"), quote=quote)
    after = await leg.work(topic, language, researcher)
    assert after.status is Status.OUTLINING
    assert after.research is not None
