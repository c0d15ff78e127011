"""Each agent called once on an example article."""

from agents.analyst import analyse
from agents.contracts import AnalysisResult, DraftResult, ResearchResult, ReviewResult
from agents.desk import Desk, PublishedBefore
from agents.researcher import research
from agents.reviewer import review
from agents.writer import revise_draft, write_draft
from knowledge.language import Language
from tests.unit.password_article import Example

PUBLISHED: dict[Language, PublishedBefore] = {
    "en": PublishedBefore("What bcrypt costs per login", "How the work factor sets the time of a login."),
    "zh": PublishedBefore("一次 bcrypt 登录要花多少时间", "工作因子如何决定登录耗时。"),
}


async def run_research(example: Example, desk: Desk, *questions: str) -> ResearchResult:
    """A second round: the desk's search has no database, so what is found comes from the first."""
    return await research(
        example.topic, example.language, questions=questions, previous=example.research, desk=desk
    )


async def run_analysis(example: Example, desk: Desk) -> AnalysisResult:
    return await analyse(
        example.topic,
        example.language,
        example.research,
        requests=example.requests,
        previous=example.analysis,
        published=[PUBLISHED[example.language]],
        desk=desk,
    )


async def run_writer(example: Example, desk: Desk) -> DraftResult:
    return await write_draft(
        example.topic,
        example.language,
        example.research,
        example.analysis,
        requests=example.requests[:1],
        desk=desk,
    )


async def run_revision(example: Example, desk: Desk) -> DraftResult:
    return await revise_draft(
        example.topic,
        example.language,
        example.research,
        example.analysis,
        example.draft,
        requests=example.requests,
        review=example.review,
        desk=desk,
    )


async def run_review(example: Example, desk: Desk) -> ReviewResult:
    return await review(
        example.topic,
        example.language,
        example.research,
        example.analysis,
        example.draft,
        requests=example.requests,
        last=example.review,
        desk=desk,
    )
