"""The whole job with the real search and the model that needs no key, in English, Chinese and Japanese."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.account import Account
from agents.analyst import analyse
from agents.citations import cited_ids, without_citations
from agents.contracts import AnalysisResult, DraftResult, ResearchResult, ReviewResult
from agents.desk import AgentProgress, Desk, StandingRequest
from agents.errors import AgentError
from agents.headings import parts
from agents.models import models_from
from agents.quotes import find
from agents.researcher import research
from agents.reviewer import review
from agents.writer import revise_draft, write_draft
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.language import Language, language_of
from knowledge.search import Search
from knowledge.sentences import sentences

SAMPLE = Path(__file__).parents[2] / "knowledge" / "sample"
ENGLISH = "Why should Go backends move from MD5 to Argon2id?"
CHINESE = "Go 后端为什么应该从 MD5 迁移到 Argon2id？"
JAPANESE = "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか"
NO_MODEL: dict[Language, str] = {
    "en": "No model is set",
    "zh": "未设置模型",
    "ja": "モデルが設定されていない",
}


@dataclass
class Bench:
    """A knowledge base and a desk; words only, since the embedding model would take most of a test's time."""

    desk: Desk
    told: list[AgentProgress]

    async def research(
        self, topic: str, *questions: str, previous: ResearchResult | None = None
    ) -> ResearchResult:
        return await research(
            topic, language_of(topic), questions=questions, previous=previous, desk=self.desk
        )

    async def analyse(
        self,
        found: ResearchResult,
        *requests: StandingRequest,
        previous: AnalysisResult | None = None,
    ) -> AnalysisResult:
        language = language_of(found.topic)
        return await analyse(
            found.topic, language, found, requests=requests, previous=previous, published=[], desk=self.desk
        )

    async def write(self, found: ResearchResult, analysis: AnalysisResult) -> DraftResult:
        language = language_of(found.topic)
        return await write_draft(found.topic, language, found, analysis, requests=[], desk=self.desk)

    async def revise(
        self,
        found: ResearchResult,
        analysis: AnalysisResult,
        draft: DraftResult,
        *requests: StandingRequest,
        last: ReviewResult | None = None,
    ) -> DraftResult:
        language = language_of(found.topic)
        return await revise_draft(
            found.topic, language, found, analysis, draft, requests=requests, review=last, desk=self.desk
        )

    async def review(
        self, found: ResearchResult, analysis: AnalysisResult, draft: DraftResult
    ) -> ReviewResult:
        language = language_of(found.topic)
        return await review(
            found.topic, language, found, analysis, draft, requests=[], last=None, desk=self.desk
        )


def desk_on(pool: Pool) -> Bench:
    told: list[AgentProgress] = []
    return Bench(Desk(models_from(None), Search(pool, None), Account(), told.append), told)


@pytest.fixture
async def bench(pool: Pool) -> Bench:
    """The sample knowledge base."""
    report = await Documents(pool).ingest([SAMPLE])
    assert report.added > 10
    return desk_on(pool)


def asks(text: str, number: int | None = None) -> StandingRequest:
    return StandingRequest(text, number, "outline", "U1", 1, None)


def asks_of_draft(text: str, number: int | None = None) -> StandingRequest:
    return StandingRequest(text, number, "draft", "U1", 1, None)


def cited_sentences(content: str) -> list[tuple[str, list[str]]]:
    """Each sentence of prose with what it cites; a code block with the citation below it."""
    found = []
    for piece in re.split(r"(^```.*?^```\n\n\[[^\]]+\])", content, flags=re.DOTALL | re.MULTILINE):
        if piece.startswith("```"):
            code, _, citation = piece.rpartition("\n\n")
            found.append((code, cited_ids(citation)))
        else:
            for start, end in sentences(piece):
                found.append((without_citations(piece[start:end]), cited_ids(piece[start:end])))
    return found


def headings(analysis: AnalysisResult) -> list[str]:
    return [section.heading for section in analysis.outline]


@pytest.mark.parametrize("topic", [ENGLISH, CHINESE, JAPANESE])
async def test_an_article_quotes_what_its_sources_say(bench: Bench, topic: str) -> None:
    language = language_of(topic)
    found = await bench.research(topic)
    for finding in found.findings:
        passage = next(one for one in found.passages if one.chunk_id == finding.chunk_id)
        assert passage.source_id == finding.source_id
        assert finding.quote in passage.text
    analysis = await bench.analyse(found)
    assert len(analysis.outline) >= 3
    draft = await bench.write(found, analysis)

    assert [section.heading for section in draft.sections] == headings(analysis)
    assert len(draft.used_source_ids) >= 2
    assert NO_MODEL[language] in draft.notes[0]
    said: list[str] = []
    for section in draft.sections:
        quoted = cited_sentences(section.content)
        assert quoted
        for sentence, ids in quoted:
            assert len(ids) == 1, sentence
            texts = [passage.text for passage in found.passages if passage.source_id == ids[0]]
            assert any(find(sentence, text) for text in texts), sentence
            assert not sentence.lstrip().startswith(("|", "#"))
            said.append(sentence)
    assert len(set(said)) == len(said)

    verdict = await bench.review(found, analysis, draft)
    assert verdict.decision == "approve"
    assert all(issue.severity != "high" for issue in verdict.issues)
    assert language_of(verdict.feedback) == language


@pytest.mark.parametrize("topic", [CHINESE, JAPANESE])
async def test_english_sources_are_quoted_in_other_articles_too(bench: Bench, topic: str) -> None:
    found = await bench.research(topic)
    draft = await bench.write(found, await bench.analyse(found))
    english = {passage.source_id for passage in found.passages if passage.lang == "en"}
    assert english & set(draft.used_source_ids)
    own = {passage.source_id for passage in found.passages if passage.lang == language_of(topic)}
    assert own & set(draft.used_source_ids)


async def test_an_english_article_is_in_english_where_english_answers(bench: Bench) -> None:
    found = await bench.research(ENGLISH)
    draft = await bench.write(found, await bench.analyse(found))
    assert {language_of(section.content) for section in draft.sections} == {"en"}
    assert not re.search(r"[\u3040-\u9fff]", draft.content)


async def test_the_same_knowledge_gives_the_same_article(bench: Bench) -> None:
    first = await bench.research(CHINESE)
    second = await bench.research(CHINESE)
    assert first == second
    assert await bench.write(first, await bench.analyse(first)) == await bench.write(
        second, await bench.analyse(second)
    )


async def test_progress_and_usage_are_told(bench: Bench) -> None:
    found = await bench.research(ENGLISH)
    last = bench.told[-1]
    assert last.searches == found.searches > 1
    assert last.sources >= len(found.sources)
    assert last.passages >= len(found.passages)
    analysis = await bench.analyse(found)
    await bench.write(found, analysis)
    assert bench.told[-1] == AgentProgress(
        sections_done=len(analysis.outline), sections=len(analysis.outline)
    )
    # Four steps of research, the formatter, the analysis, the title page and each section.
    assert bench.desk.account.requests == 4 + 1 + 1 + 1 + len(analysis.outline)


@pytest.mark.parametrize(
    ("topic", "question"),
    [
        (ENGLISH, "Who won the football world cup in 1998?"),
        (CHINESE, "一九九八年世界杯冠军是谁？"),
        (JAPANESE, "1998年のワールドカップの優勝国はどこか"),
    ],
)
async def test_what_nobody_says_is_named_as_a_gap(bench: Bench, topic: str, question: str) -> None:
    found = await bench.research(topic, question)
    assert any(question in gap for gap in found.gaps)
    analysis = await bench.analyse(found)
    assert any(question in gap for gap in analysis.missing_evidence)
    draft = await bench.write(found, analysis)
    verdict = await bench.review(found, analysis, draft)
    assert any(question in issue.description for issue in verdict.issues)


async def test_a_second_round_adds_to_the_first(bench: Bench) -> None:
    first = await bench.research(ENGLISH)
    second = await bench.research(
        ENGLISH, "What does NIST SP 800-63B say about salts and peppers?", previous=first
    )
    assert second.findings[: len(first.findings)] == first.findings
    assert len(second.findings) > len(first.findings)
    assert second.sources[: len(first.sources)] == first.sources
    assert len({source.id for source in second.sources}) == len(second.sources)
    assert second.searches > first.searches
    before = await bench.analyse(first)
    after = await bench.analyse(second, previous=before)
    assert headings(after)[: len(before.outline)] == headings(before)
    new = {source.id for source in second.sources} - {source.id for source in first.sources}
    assert new & {source_id for section in after.outline for source_id in section.source_ids}


async def test_nothing_is_made_of_nothing(bench: Bench) -> None:
    for topic in ("Baroque lute tunings", "巴洛克琵琶的调弦", "バロックリュートの調弦"):
        with pytest.raises(AgentError) as failed:
            await bench.research(topic)
        assert failed.value.code == "nothing_found"
        assert failed.value.facts == {"topic": topic}


@pytest.mark.parametrize(
    ("topic", "drop", "first", "done"),
    [
        (ENGLISH, "please drop section 2", "put section 3 first", "Done: section 2"),
        (CHINESE, "删除第2节", "把第三节放在最前面", "已完成：删除第 2 节"),
        (JAPANESE, "第2節を削除してください", "第3節を先頭に", "実施済み：第2節"),
    ],
)
async def test_people_change_the_outline_and_it_stays_changed(
    bench: Bench, topic: str, drop: str, first: str, done: str
) -> None:
    found = await bench.research(topic)
    start = await bench.analyse(found)
    moved = await bench.analyse(found, asks(first), previous=start)
    assert headings(moved) == [headings(start)[2], *headings(start)[:2], *headings(start)[3:]]
    told = StandingRequest(first, None, "outline", "U1", 1, " ".join(moved.notes))
    dropped = await bench.analyse(found, told, asks(drop), previous=moved)
    assert headings(dropped) == [headings(moved)[0], *headings(moved)[2:]]
    assert any(note.startswith(done) for note in dropped.notes)
    later = StandingRequest(drop, None, "outline", "U1", 2, " ".join(dropped.notes))
    again = await bench.analyse(found, told, later, previous=dropped)
    assert headings(again) == headings(dropped)
    assert again.notes == []


@pytest.mark.parametrize(
    ("topic", "drop_it", "drop_other"),
    [
        (ENGLISH, "drop it", "drop the adjectives"),
        (CHINESE, "删除它", "删除形容词"),
        (JAPANESE, "これを削除", "形容詞を削除"),
    ],
)
async def test_a_request_for_one_section_drops_that_section_or_nothing(
    bench: Bench, topic: str, drop_it: str, drop_other: str
) -> None:
    found = await bench.research(topic)
    start = await bench.analyse(found)
    assert headings(await bench.analyse(found, asks(drop_it, 2), previous=start)) == [
        *headings(start)[:1],
        *headings(start)[2:],
    ]
    assert headings(await bench.analyse(found, asks(drop_other, 2), previous=start)) == headings(start)
    draft = await bench.write(found, start)
    dropped = await bench.revise(found, start, draft, asks_of_draft(drop_it, 2))
    assert dropped.sections == [draft.sections[0], *draft.sections[2:]]
    kept = await bench.revise(found, start, draft, asks_of_draft(drop_other, 2))
    assert [section.heading for section in kept.sections] == headings(start)


@pytest.mark.parametrize(
    ("topic", "request_text", "meant"),
    [
        (ENGLISH, "put the migration first", r"[Rr]oll|[Mm]igrat"),
        (CHINESE, "先讲迁移", "迁移"),
        (JAPANESE, "移行を先に", "移行"),
    ],
)
async def test_a_section_is_found_by_what_it_is_about(
    bench: Bench, topic: str, request_text: str, meant: str
) -> None:
    found = await bench.research(topic)
    start = await bench.analyse(found)
    moved = await bench.analyse(found, asks(request_text), previous=start)
    assert re.search(meant, headings(moved)[0])
    assert sorted(headings(moved)) == sorted(headings(start))


@pytest.mark.parametrize(
    ("topic", "friendlier", "note"),
    [
        (ENGLISH, "make it friendlier", "Not done without a model: “make it friendlier”."),
        (CHINESE, "写得亲切一些", "没有模型无法完成：“写得亲切一些”。"),
        (JAPANESE, "親しみやすい文体で", "モデルなしではできません：「親しみやすい文体で」。"),
    ],
)
async def test_what_needs_a_model_is_said(bench: Bench, topic: str, friendlier: str, note: str) -> None:
    found = await bench.research(topic)
    start = await bench.analyse(found)
    same = await bench.analyse(found, asks(friendlier), previous=start)
    assert note in same.notes
    draft = await bench.write(found, start)
    kept = await bench.revise(found, start, draft, asks_of_draft(friendlier))
    assert kept.sections == draft.sections
    assert note in kept.notes


@pytest.mark.parametrize(
    ("topic", "shorter", "done"),
    [
        (ENGLISH, "shorter", "Done: section 2 shortened."),
        (CHINESE, "写短一点", "已完成：缩短第 2 节。"),
        (JAPANESE, "短くしてください", "実施済み：第2節を短縮。"),
    ],
)
async def test_a_revised_section_leaves_the_others_byte_for_byte(
    bench: Bench, topic: str, shorter: str, done: str
) -> None:
    found = await bench.research(topic)
    analysis = await bench.analyse(found)
    draft = await bench.write(found, analysis)
    revised = await bench.revise(found, analysis, draft, asks_of_draft(shorter, 2))
    assert len(revised.sections[1].content) < len(draft.sections[1].content)
    assert cited_ids(revised.sections[1].content)
    others = [section for place, section in enumerate(draft.sections) if place != 1]
    assert [section for place, section in enumerate(revised.sections) if place != 1] == others
    assert all(f"## {section.heading}\n\n{section.content}" in revised.content for section in others)
    assert done in revised.notes


@pytest.mark.parametrize(
    ("topic", "move", "drop"),
    [
        (ENGLISH, "move the last section to the top", "drop section 2"),
        (CHINESE, "把最后一节放到最前面", "删除第2节"),
        (JAPANESE, "最後の節を先頭に", "第2節を削除"),
    ],
)
async def test_sections_of_a_draft_are_moved_and_dropped_without_a_word_changed(
    bench: Bench, topic: str, move: str, drop: str
) -> None:
    found = await bench.research(topic)
    analysis = await bench.analyse(found)
    draft = await bench.write(found, analysis)
    moved = await bench.revise(found, analysis, draft, asks_of_draft(move))
    assert moved.sections == [draft.sections[-1], *draft.sections[:-1]]
    dropped = await bench.revise(found, analysis, moved, asks_of_draft(drop))
    assert dropped.sections == [moved.sections[0], *moved.sections[2:]]


async def test_a_draft_takes_in_what_a_later_research_found(bench: Bench) -> None:
    first = await bench.research(ENGLISH)
    analysis = await bench.analyse(first)
    draft = await bench.write(first, analysis)
    second = await bench.research(
        ENGLISH, "What does NIST SP 800-63B say about salts and peppers?", previous=first
    )
    revised = await bench.revise(second, await bench.analyse(second, previous=analysis), draft)
    assert set(revised.used_source_ids) > set(draft.used_source_ids)
    kept = [section for section in draft.sections if section in revised.sections]
    assert kept


BREAD = {
    "starter.md": """# Keeping a starter

## Feeding

A starter at room temperature needs fresh flour once or twice a day. The usual feeding is one part starter,
one part flour and one part water by weight.

## In the cold

A sourdough starter can rest in the refrigerator for up to two weeks. Cold slows the yeast more than the
bacteria, so a cold starter turns more sour.
""",
    "baking.md": """# Baking sourdough

## Bulk fermentation

Bulk fermentation of a sourdough takes four to six hours at 24 degrees. Salt at 2 % of the flour weight slows
the fermentation.

| Degrees | Hours |
|---|---|
| 20 | 8 |

## In the oven

The oven has to be at 250 degrees before the sourdough goes in. Steam in the first 20 minutes keeps the crust
soft.
""",
}


async def test_it_knows_any_field_that_the_documents_know(pool: Pool, tmp_path: Path) -> None:
    for name, text in BREAD.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    await Documents(pool).ingest([tmp_path])
    bench = desk_on(pool)
    found = await bench.research("How to bake sourdough")
    analysis = await bench.analyse(found)
    assert len(analysis.outline) >= 3
    named = {heading for text in BREAD.values() for heading, _ in parts(text)}
    assert set(headings(analysis)) <= named
    draft = await bench.write(found, analysis)
    assert draft.used_source_ids == ["S1", "S2"]
    assert "|" not in draft.content
    assert draft.title == "How to bake sourdough"


def test_sentences_of_the_test_itself_are_split_as_they_are_quoted() -> None:
    quoted: Sequence[tuple[str, list[str]]] = cited_sentences(
        "MD5 is fast [S1]. It has no salt [S2].\n\nMD5 很快[S3]。没有盐[S4]。\n\n```go\nx\n\ny\n```\n\n[S5]"
    )
    assert quoted == [
        ("MD5 is fast.", ["S1"]),
        ("It has no salt.", ["S2"]),
        ("MD5 很快。", ["S3"]),
        ("没有盐。", ["S4"]),
        ("```go\nx\n\ny\n```", ["S5"]),
    ]
