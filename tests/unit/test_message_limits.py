"""Whatever people, models and documents write: Slack takes the message, and it pings only whom we mean."""

import json
import re
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.contracts import OutlineSection, ReviewIssue, ReviewResult, Source
from bot.blocks import (
    MESSAGE_CHARACTERS,
    draw,
)
from bot.fitting import length, size
from bot.local_slack.limits import check_message
from bot.local_slack.plain_text import pings
from bot.messages import (
    Decided,
    DigestArticle,
    DigestMessage,
    DigestWaiting,
    DraftMessage,
    InWork,
    NoteMessage,
    OutlineMessage,
    Progress,
    SectionSummary,
    StatusMessage,
)
from knowledge.article import Action, Status
from knowledge.language import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)

HOSTILE = [
    *("<!channel>", "<@U0EVIL>", "<!subteam^S0EVIL>", "@here", "&lt;!everyone&gt;", "https://evil.test"),
    *("[x](https://x.test)", "[S1]", "\u0000", "\u202e", "\u200b", "\ud83d", "👩\u200d👩\u200d👧", '"', "\\"),
    *("\n", "`", "*", "# ", "- ", "```", "word ", "很长的中文没有空格", "日本語の文。", "עברית"),
    *("a" * 50, "漢" * 50),
]
foreign = st.tuples(
    st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=8).map("".join),
    st.sampled_from([1, 1, 1, 20, 400]),
).map(lambda given: (given[0] * given[1])[:12_000])
somebody = st.one_of(st.just("UANA"), st.just("UBO"), foreign.map("{} ".format))
languages = st.sampled_from(LANGUAGES)
counts = st.integers(0, 10**9)
ids = st.lists(st.integers(1, 10**6).map(lambda number: f"S{number}"), max_size=30)


def many(of: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Few different ones, up to 200 in all: what costs is their number, not their variety."""
    return st.tuples(st.lists(of, max_size=4), st.sampled_from([1, 1, 50])).map(
        lambda given: given[0] * given[1]
    )


statuses = st.builds(
    StatusMessage,
    article_id=st.integers(1, 2**31 - 1),
    language=languages,
    topic=foreign,
    requested_by=somebody,
    status=st.sampled_from(Status),
    progress=st.builds(
        Progress,
        searches=counts,
        passages=counts,
        queries=st.lists(foreign, max_size=4).map(tuple),
        sections_done=counts,
        sections=counts,
        writing=st.lists(st.builds(InWork, number=counts, heading=foreign), max_size=20).map(tuple),
    ),
    elapsed_seconds=st.integers(-5, 10**9),
    review_number=counts,
    max_reviews=counts,
    review_decision=st.sampled_from([None, "approve", "revise", "research"]),
    link=st.one_of(st.none(), foreign, st.just("https://x.test/" + "a" * 1900)),
    cost_usd=st.one_of(st.none(), st.floats(0, 10**6)),
    approved_by=st.one_of(st.none(), somebody),
    error=st.one_of(st.none(), foreign),
)
decisions = st.one_of(
    st.none(),
    st.builds(
        Decided,
        action=st.sampled_from([Action.APPROVE, Action.REVISE, Action.RESEARCH, Action.CANCEL]),
        by=st.just("UBO"),
    ),
)
outlines = st.builds(
    OutlineMessage,
    language=languages,
    version=counts,
    sections=many(st.builds(OutlineSection, heading=foreign, description=foreign, source_ids=ids)),
    missing_evidence=many(foreign),
    sources=many(
        st.builds(
            Source,
            id=st.just("S1"),
            title=foreign,
            url=st.one_of(st.none(), foreign, st.just("https://x.test/" + "a" * 1900)),
            path=st.one_of(st.none(), foreign),
        )
    ),
    notes=many(foreign),
    asks=st.booleans(),
    decided=decisions,
)
drafts = st.builds(
    DraftMessage,
    language=languages,
    version=counts,
    title=foreign,
    description=foreign,
    words=counts,
    sections=many(st.builds(SectionSummary, heading=foreign, words=counts, source_ids=ids, added=counts)),
    changed_since=st.one_of(st.none(), counts),
    notes=many(foreign),
    review=st.builds(
        ReviewResult,
        score=st.one_of(st.none(), st.integers(0, 100)),
        issues=many(
            st.builds(
                ReviewIssue, description=foreign, suggested_fix=foreign, section=st.one_of(st.none(), foreign)
            )
        ),
        feedback=foreign,
    ),
    asks=st.booleans(),
    decided=decisions,
    stopped_by=st.one_of(st.none(), st.sampled_from(["max_reviews", "budget", "no_such_cap"])),
)
notes = st.builds(
    lambda language, key, text: NoteMessage(
        article_id=1, language=language, key=key[0], params={**key[1], key[2]: text}, to=None
    ),
    languages,
    st.sampled_from(
        [
            ("request_taken_draft", {"version": 1}, "text"),
            ("published_over", {"version": 1, "words": 1, "sources": 1, "by": "UBO", "link": ""}, "issues"),
            ("older_version", {"on": "outline", "seen": 1, "current": 2}, "link"),
            ("near_miss", {"word": "approve", "on": "draft", "version": 1}, "said"),
            ("failed", {}, "message"),
        ]
    ),
    foreign,
)
links = st.one_of(st.none(), foreign, st.just("https://x.test/" + "a" * 1900))
digests = st.builds(
    DigestMessage,
    language=languages,
    articles=many(
        st.builds(
            DigestArticle,
            title=foreign,
            description=foreign,
            words=counts,
            requested_by=somebody,
            approved_by=st.one_of(st.none(), somebody),
            thread=links,
            file=links,
        )
    ),
    waiting=many(st.builds(DigestWaiting, topic=foreign, requested_by=somebody, link=links)),
    failed=counts,
    cancelled=counts,
    tokens=counts,
    cost_usd=st.one_of(st.none(), st.floats(0, 10**6)),
)
OURS = {"@UANA", "@UBO"}


@settings(max_examples=150, deadline=None)
@given(st.one_of(statuses, outlines, drafts, notes, digests))
def test_any_message_is_one_that_slack_takes_and_pings_only_whom_we_mean(
    message: StatusMessage | OutlineMessage | DraftMessage | NoteMessage | DigestMessage,
) -> None:
    drawn = draw(message)
    check_message(drawn.text, drawn.blocks, longest_text=3_999)
    assert drawn.text.strip()
    assert len(drawn.blocks) <= 45
    assert size(drawn.blocks) <= MESSAGE_CHARACTERS
    assert length(drawn.text) < 4_000
    assert {*pings(drawn.blocks)} <= OURS
    assert not re.search(r"<(?!@UANA>|@UBO>|https://)", drawn.text)
    json.dumps(drawn.blocks, ensure_ascii=False).encode()
