"""With COPYDESK_WEB_SEARCH set an article may cite pages of the web; unset, nothing is asked of anybody."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
import yaml

from bot.local_slack.plain_text import plain_text
from knowledge.article import Article, Status
from knowledge.documents import Documents
from knowledge.fetch import FetchLimits
from tests.e2e.desk import PATIENCE, Desk
from tests.editorial_office import Office
from tests.scripted_openai.replies import Call, Reply, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI
from tests.web_hosts import Hit, SearxHost, Site

# What the sample knowledge says nothing of.
TOPICS = {
    "en": "How deep should sourdough starters be fed before baking rye bread?",
    "zh": "做黑麦面包之前应该怎样喂养酸面团？",
    "ja": "ライ麦パンを焼く前にサワー種へどう粉を足すか",
}
PAGES = {
    "en": {
        "Feeding a starter": "A sourdough starter should be fed with equal weights of rye flour and water "
        "twelve hours before baking. It must be kept at 26 degrees, because yeast slows down below that.",
        "Rye bread": "Rye bread should rest for a day before it is cut, because its crumb sets slowly. The "
        "sourdough starter makes up a third of the dough of rye bread.",
        "Faults of rye bread": "A sour taste means that the starter should be fed more often before baking. "
        "A crack in the crust means that rye bread went into the oven too early.",
    },
    "zh": {
        "喂养酸面团": "烘焙前十二小时，应该用等重的黑麦粉和水喂养酸面团。"
        "温度必须保持在二十六度，因为低于这个温度酵母会变慢。",
        "黑麦面包": "黑麦面包应该放置一天再切，因为面包心凝固得慢。酸面团占黑麦面包面团的三分之一。",
        "黑麦面包的缺陷": "味道太酸说明应该更频繁地喂养酸面团。外皮开裂说明黑麦面包进炉太早。",
    },
    "ja": {
        "サワー種の世話": "焼く十二時間前に、サワー種へ同じ重さのライ麦粉と水を足すべきである。"
        "温度は二十六度に保つ必要がある。",
        "ライ麦パン": "ライ麦パンは一日置いてから切るべきである。"
        "サワー種はライ麦パンの生地の三分の一を占める。",
        "ライ麦パンの失敗": "酸味が強いときは、サワー種へもっと頻繁に粉を足すべきである。"
        "ライ麦パンの皮が割れるのは、早く焼きすぎたためである。",
    },
}
WORDS = {
    "en": ("Approve outline 1", "Approve draft 1", "approve"),
    "zh": ("通过大纲 1", "通过草稿 1", "通过"),
    "ja": ("構成案 1 を承認", "原稿 1 を承認", "承認"),
}
LANGUAGES = pytest.mark.parametrize("language", TOPICS)


@dataclass(frozen=True)
class SmallWeb:
    """An engine, and a site that it leads to."""

    engine: SearxHost
    site: Site

    def leads_to(self, language: str) -> None:
        self.site.pages = {
            f"/{number}": f"# {title}\n\n{text}"
            for number, (title, text) in enumerate(PAGES[language].items(), start=1)
        }
        self.engine.hits = [Hit(f"{self.site.url}{path}", f"Page {path}", "…") for path in self.site.pages]


@pytest.fixture
async def web(desk: Desk) -> AsyncIterator[SmallWeb]:
    here = Documents(desk.knowledge.pool, limits=FetchLimits(private_hosts=frozenset({"127.0.0.1"})))
    desk.knowledge = replace(desk.knowledge, documents=here)
    async with SearxHost() as engine, Site() as site:
        yield SmallWeb(engine, site)


async def published(desk: Desk, language: str) -> Article:
    """An article that people approve at both gates."""
    outline, draft, approve = WORDS[language]
    parent = await desk.request(TOPICS[language])
    await desk.asked(parent, outline)
    await desk.ana.say(desk.channel, approve, thread_ts=parent.ts)
    await desk.asked(parent, draft)
    await desk.ana.say(desk.channel, approve, thread_ts=parent.ts)
    return await desk.article(parent, Status.PUBLISHED)


@LANGUAGES
async def test_an_article_without_a_model_cites_the_pages_that_were_read(
    desk: Desk, web: SmallWeb, language: str
) -> None:
    web.leads_to(language)
    await desk.start(web_search=web.engine.url)
    article = await published(desk, language)
    assert web.engine.queries == [TOPICS[language]]
    [version] = await desk.knowledge.articles.versions(article.id)
    _, head, body = version["markdown"].split("---\n", 2)
    sources = yaml.safe_load(head)["sources"]
    urls = {source["url"]: source["id"] for source in sources if "url" in source}
    assert set(urls) == {f"{web.site.url}{path}" for path in web.site.pages}
    assert all(f"[{number}]" in body for number in urls.values())
    of_article = await desk.knowledge.documents.sources_of_article(article.id)
    assert {source.collection for source in of_article} == {"web"}


@LANGUAGES
async def test_with_a_model_a_page_is_cited_beside_the_base(
    desk: Desk, web: SmallWeb, host: ScriptedOpenAI, language: str
) -> None:
    """The model's first turn is the office's search; its second goes to the web, its third reads."""
    web.leads_to(language)
    office = Office()

    def answer(request: ChatRequest) -> Reply:
        if "web_search" in request.tool_names:
            if len(request.tool_results) == 1:
                return ToolCalls([Call("web_search", {"query": TOPICS[language]})])
            if len(request.tool_results) == 2:
                arguments = {"result_id": "W1", "question": TOPICS[language]}
                return ToolCalls([Call("read_page", arguments)])
        return office(request)

    host.answer = answer
    await desk.start(web_search=web.engine.url, model="openai-chat:gpt-4.1-mini")
    parent = await desk.request(TOPICS[language])
    await desk.asked(parent, WORDS[language][0])
    article = await desk.article(parent)
    assert article.research is not None
    urls = {source["url"] for source in article.research["sources"]}
    assert f"{web.site.url}/1" in urls
    assert f"{web.site.url}/2" not in urls  # found, but nobody read it


@LANGUAGES
async def test_unset_no_engine_and_no_site_is_asked(desk: Desk, web: SmallWeb, language: str) -> None:
    web.leads_to(language)
    await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.article(parent, Status.FAILED)
    await desk.slack.wait_for(lambda: "ingest" in desk.status(parent) or len(desk.bots(parent)), PATIENCE)
    assert web.engine.requests == []
    assert web.site.requests == []
    assert "127.0.0.1" not in plain_text(desk.thread(parent)[0])
