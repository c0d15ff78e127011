"""Every misbehaviour of the catalogue at every stage: what became of it, at what cost, and that it ended."""

import math
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.misbehaving_desk import MisbehavingDesk, misbehaving_desk
from tests.misbehaviours import MISBEHAVIOURS, Harmless, Misbehaviour
from tests.usual_answers import LANGUAGES


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk() -> AsyncIterator[MisbehavingDesk]:
    """One for all: its models take longer to make than a misbehaviour takes."""
    async with misbehaving_desk() as opened:
        yield opened


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS, ids=lambda one: one.name)
async def test_a_misbehaviour_becomes_what_the_catalogue_says(
    misbehaviour: Misbehaviour, desk: MisbehavingDesk
) -> None:
    number = MISBEHAVIOURS.index(misbehaviour)
    wrong = []
    for at, stage in enumerate(misbehaviour.stages):
        case = misbehaviour.case(stage, LANGUAGES[(at + number) % len(LANGUAGES)])
        came, right = misbehaviour.came(case), await desk.right_result(case)
        situations = zip([misbehaviour.times, math.inf, math.inf], [True, True, False], strict=True)
        runs = list(zip(situations, misbehaviour.fates_at(stage), strict=True))
        if isinstance(misbehaviour.fates, Harmless):
            runs = runs[2:]  # what costs nothing where it never ends needs no other run
        else:
            del runs[(at + number) % 3]  # two of three in turn
        few = len(misbehaviour.stages) < len(misbehaviour.ways)
        for way in misbehaviour.ways if few else [misbehaviour.way_at(stage)]:
            for (times, helped), fate in runs:
                became = await desk.put(case, came, way, times=times, helped=helped)
                kept = (
                    became.error is None or became.error.facts.get("answer", "") == became.error.said[:4_000]
                )
                same = became.result in (None, right) or became.end == "done without"
                if (became.end, became.extra) != fate or not kept or not same:
                    wrong.append((stage, case.language, way, times, helped, fate, became))
    assert wrong == []
