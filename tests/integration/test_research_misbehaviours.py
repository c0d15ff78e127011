"""Every way in which the model of a research misbehaves: what becomes of it, and at what cost."""

import pytest

from knowledge.database import Pool
from tests.research_misbehaviours import RESEARCH_MISBEHAVIOURS, put
from tests.usual_answers import LANGUAGES


@pytest.mark.parametrize("helped", [True, False], ids=["with a fallback", "alone"])
async def test_each_becomes_what_the_catalogue_says(pool: Pool, helped: bool) -> None:
    wrong = []
    for number, misbehaviour in enumerate(RESEARCH_MISBEHAVIOURS):
        language = LANGUAGES[(number + helped) % len(LANGUAGES)]
        became = await put(misbehaviour, language, pool, helped=helped)
        kept = became.error is None or became.error.said or became.error.code == "model_declined"
        if (became.end, became.extra) != misbehaviour.fate(helped=helped) or not kept:
            wrong.append((misbehaviour.name, became))
    assert not wrong, "\n".join(map(str, wrong))
