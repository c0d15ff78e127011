"""A step of several calls that was finished before its worker died."""

from knowledge.article import Status
from knowledge.database import Pool
from knowledge.language import Language
from tests.editorial_office import stage_of
from tests.integration.test_journal import LANGUAGES, Host, entries, host, killed, stage
from tests.integration.test_legs import Stage
from tests.scripted_openai.replies import Hang

__all__ = ["host", "stage"]


@LANGUAGES
async def test_of_a_step_with_two_calls_neither_is_made_again(
    stage: Stage, host: Host, pool: Pool, language: Language
) -> None:
    article = await stage.start(language)
    host.spoilt = lambda request: Hang() if stage_of(request) != "knowledge_search" else None
    await killed(stage.work(article, host.models), pool, host, "research", "research", "research:search")
    assert host.asked("knowledge_search") == 2
    host.spoilt = lambda request: None
    outlining = await stage.work(article, host.models)
    assert outlining.status is Status.OUTLINING
    assert host.asked("knowledge_search") == 2
    assert outlining.usage["requests"] == 3
    assert await entries(pool, article) == []
