"""The request of a researcher who may look on the web, over the wire: as in test_agents_golden.py."""

import json
from dataclasses import replace
from typing import Any

import pytest
from asyncpg import create_pool

from agents.desk import Web
from agents.web_searxng import SearXNG
from knowledge.documents import Documents
from knowledge.pages import Pages
from tests.unit.agent_runs import run_research
from tests.unit.answers import USUAL
from tests.unit.password_article import Example, chinese, desk_with, english
from tests.unit.scripted_model import calls, said, scripted_host
from tests.unit.test_agents_golden import QUESTIONS, REPORTS, approved
from tests.web_hosts import Hit, SearxHost


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
async def test_the_request_with_the_web_is_the_one_that_was_read_and_approved(example: Example) -> None:
    """The second one, with what a search gave."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body:
            return said(json.dumps(dict(USUAL["return_findings"])))
        if body["messages"][-1]["role"] == "tool":
            return said(REPORTS[example.language])
        return calls(("knowledge_search", {"queries": ["MD5"]}), ("web_search", {"query": "MD5 密码"}))

    async with SearxHost() as engine, scripted_host(answer) as (host, model):
        engine.hits = [Hit("https://example.com/md5", "MD5 的弱点", "MD5 was built to be fast.")]
        pool = create_pool()  # never opened: no page is read
        web = Web(SearXNG(engine.url), Pages(pool, Documents(pool)), article_id=1)
        await run_research(example, replace(desk_with(model), web=web), QUESTIONS[example.language])
        assert engine.queries == ["MD5 密码"]
    with_tools = [body for body in host.requests if "tools" in body]
    approved("researcher_web", example, with_tools[1])
