"""The stages of an article with each kind of host: each gives an outline, a draft and a review."""

import pytest

from knowledge.database import Pool
from tests.editorial_office import Office
from tests.host_kinds import KINDS, TOPICS, Kind, an_article, desk_at


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_every_stage_gets_its_answer(kind: Kind, pool: Pool) -> None:
    # Languages in turn, so that each is over every kind of wire without three times the time.
    language = [*TOPICS][KINDS.index(kind) % len(TOPICS)]
    office = Office(reviews=["revise", "approve"])
    async with desk_at(kind, office, pool) as (host, desk):
        reviews = await an_article(TOPICS[language], language, desk)
    # A host without tools says so once; then they are said in words.
    refused = [refusal.message for refusal in host.refusals]
    assert len(refused) == ("no tools" in kind.name)
    assert all("does not support tools" in message for message in refused)
    assert [one.decision for one in reviews] == ["revise", "approve"]
    conducts = [conduct for conduct in desk.conducts if conduct.answers]
    # Findings, outline, title page, three sections, a review; the plan, the section it touches, a review.
    assert len(conducts) == 10
    assert not any(conduct.asked_again or conduct.failed for conduct in desk.conducts)
