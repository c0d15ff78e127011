"""An article on passwords half made, in English and Chinese: what the agents hand one another."""

from dataclasses import dataclass

from asyncpg import create_pool
from pydantic_ai.models import Model

from agents.account import Account
from agents.contracts import (
    AnalysisResult,
    DraftResult,
    DraftSection,
    Finding,
    KeyPoint,
    OutlineSection,
    ResearchResult,
    ReviewIssue,
    ReviewResult,
    Risk,
    Source,
    SourcePassage,
)
from agents.desk import AgentProgress, Desk, StandingRequest
from agents.models import Models
from knowledge.language import Language
from knowledge.search import Search


@dataclass(frozen=True)
class Example:
    """One article. Both languages have two sources, three sections and one gap."""

    language: Language
    research: ResearchResult
    analysis: AnalysisResult
    draft: DraftResult
    review: ReviewResult
    requests: list[StandingRequest]

    @property
    def topic(self) -> str:
        return self.research.topic


def _source(number: int, title: str) -> Source:
    return Source(
        id=f"S{number}",
        title=title,
        url=f"https://example.com/{number}",
        path=None,
        document_id=number,
        verified=True,
    )


def _passage(source: int, chunk_id: int, heading: str, text: str, lang: Language) -> SourcePassage:
    return SourcePassage(source_id=f"S{source}", chunk_id=chunk_id, heading=heading, text=text, lang=lang)


def _finding(claim: str, passage: SourcePassage, quote: str) -> Finding:
    assert quote in passage.text
    return Finding(
        claim=claim, source_id=passage.source_id, confidence="high", quote=quote, chunk_id=passage.chunk_id
    )


def _draft(title: str, description: str, sections: list[tuple[str, str]]) -> DraftResult:
    return DraftResult(
        title=title,
        description=description,
        tags=["go", "argon2id"],
        categories=["security"],
        sections=[DraftSection(heading=heading, content=content) for heading, content in sections],
        content="\n\n".join(f"## {heading}\n\n{content}" for heading, content in sections),
        used_source_ids=["S1", "S2"],
        notes=["No source says how long a login takes."],
    )


def english() -> Example:
    """The article in English, with one Chinese source."""
    speed = _passage(
        1,
        11,
        "Why MD5 fails > Speed",
        "MD5 was built to be fast.\n\nA graphics card tries 164.1 billion MD5 digests a second.",
        "en",
    )
    moving = _passage(
        1, 12, "Why MD5 fails > Moving", "Each login is a chance to replace an old digest.", "en"
    )
    settings = _passage(2, 21, "Argon2id 的参数", "OWASP 建议至少使用 19 MiB 内存、2 次迭代。", "zh")
    research = ResearchResult(
        topic="Why should Go backends move from MD5 to Argon2id?",
        findings=[
            _finding("MD5 is fast.", speed, "MD5 was built to be fast."),
            _finding(
                "One card tries 164.1 billion MD5 digests a second.",
                speed,
                "A graphics card tries 164.1 billion MD5 digests a second.",
            ),
            _finding(
                "Logins can replace digests.", moving, "Each login is a chance to replace an old digest."
            ),
            _finding(
                "OWASP asks for at least 19 MiB and 2 iterations.",
                settings,
                "OWASP 建议至少使用 19 MiB 内存、2 次迭代。",
            ),
        ],
        sources=[_source(1, "Why MD5 fails"), _source(2, "Argon2id 的参数")],
        gaps=["Login latency in production was not found."],
        summary="MD5 is too fast; Argon2id costs memory.",
        passages=[speed, moving, settings],
        searches=3,
    )
    analysis = AnalysisResult(
        topic=research.topic,
        key_points=[KeyPoint(point="MD5 is too fast.", source_ids=["S1"], importance="high")],
        outline=[
            OutlineSection(heading="Why MD5 fails", description="Speed as a weakness.", source_ids=["S1"]),
            OutlineSection(heading="Argon2id", description="Parameters that hold.", source_ids=["S2"]),
            OutlineSection(heading="What it costs", description="Latency of a login.", source_ids=[]),
        ],
        risks=[Risk(description="One source on parameters.", source_ids=["S2"])],
        missing_evidence=["How long does a login take in production?"],
        needs_more_research=False,
        summary="From speed to memory.",
        notes=[],
    )
    draft = _draft(
        "Moving Go services from MD5 to Argon2id",
        "Why fast hashes fail.",
        [
            ("Why MD5 fails", "MD5 was built to be fast [S1].\n\nA card tries billions of digests [S1]."),
            ("Argon2id", "OWASP asks for 19 MiB [S2]."),
            ("What it costs", "No source says how long a login takes."),
        ],
    )
    review = ReviewResult(
        decision="revise",
        score=71,
        issues=[
            ReviewIssue(
                severity="high",
                description="The number of digests is missing.",
                suggested_fix="Say 164.1 billion a second.",
                section="Why MD5 fails",
            ),
            ReviewIssue(
                severity="low",
                description="The title promises a move.",
                suggested_fix="Shorten it.",
                section=None,
            ),
        ],
        feedback="Solid, but the numbers need care.",
    )
    requests = [
        StandingRequest("put the problem first", None, "outline", "U1", 1, "Done: section 1 is the problem."),
        StandingRequest("shorter", 1, "draft", "U2", 1, None),
    ]
    return Example("en", research, analysis, draft, review, requests)


def chinese() -> Example:
    """The article in Chinese, with one English source."""
    speed = _passage(
        1,
        11,
        "为什么 MD5 不安全 > 速度",
        "MD5 是为快速计算而设计的。\n\n一张显卡每秒可以尝试 1641 亿个 MD5 摘要。",
        "zh",
    )
    settings = _passage(
        2,
        21,
        "Choosing Argon2id parameters",
        "OWASP asks for at least 19 MiB of memory and 2 iterations.",
        "en",
    )
    research = ResearchResult(
        topic="Go 后端为什么应该从 MD5 迁移到 Argon2id？",
        findings=[
            _finding("MD5 很快。", speed, "MD5 是为快速计算而设计的。"),
            _finding("一张显卡每秒尝试 1641 亿个摘要。", speed, "一张显卡每秒可以尝试 1641 亿个 MD5 摘要。"),
            _finding(
                "OWASP 建议至少 19 MiB 内存、2 次迭代。",
                settings,
                "OWASP asks for at least 19 MiB of memory and 2 iterations.",
            ),
        ],
        sources=[_source(1, "为什么 MD5 不安全"), _source(2, "Choosing Argon2id parameters")],
        gaps=["没有找到生产环境的登录延迟。"],
        summary="MD5 太快；Argon2id 消耗内存。",
        passages=[speed, settings],
        searches=3,
    )
    analysis = AnalysisResult(
        topic=research.topic,
        key_points=[KeyPoint(point="MD5 太快。", source_ids=["S1"], importance="high")],
        outline=[
            OutlineSection(heading="MD5 为什么不安全", description="速度就是弱点。", source_ids=["S1"]),
            OutlineSection(heading="Argon2id 的参数", description="够用的参数。", source_ids=["S2"]),
            OutlineSection(heading="代价", description="登录延迟。", source_ids=[]),
        ],
        risks=[],
        missing_evidence=["生产环境的登录需要多长时间？"],
        needs_more_research=False,
        summary="从速度到内存。",
        notes=[],
    )
    draft = _draft(
        "Go 服务从 MD5 迁移到 Argon2id",
        "快速散列为什么不够。",
        [
            ("MD5 为什么不安全", "MD5 是为快速计算而设计的[S1]。\n\n显卡每秒可以尝试很多摘要[S1]。"),
            ("Argon2id 的参数", "OWASP 建议 19 MiB 内存[S2]。"),
            ("代价", "没有资料说明登录需要多长时间。"),
        ],
    )
    review = ReviewResult(
        decision="revise",
        score=71,
        issues=[
            ReviewIssue(
                severity="high",
                description="缺少摘要的数量。",
                suggested_fix="写明每秒 1641 亿个。",
                section="MD5 为什么不安全",
            )
        ],
        feedback="结构不错，数字要仔细。",
    )
    requests = [
        StandingRequest("先讲问题", None, "outline", "U1", 1, "已完成：问题放在第 1 节。"),
        StandingRequest("写短一点", 1, "draft", "U2", 1, None),
    ]
    return Example("zh", research, analysis, draft, review, requests)


def desk_with(model: Model, *, told: list[AgentProgress] | None = None) -> Desk:
    """A desk where all agents use one model. Its search has no database, and fails when it is used."""
    pool = create_pool("postgresql://nobody@127.0.0.1:1/nothing")
    return Desk(
        models=Models(research=model, formatter=model, analysis=model, writer=model, reviewer=model),
        search=Search(pool, None),
        account=Account(),
        progress=(told if told is not None else []).append,
    )
