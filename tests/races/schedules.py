"""Random schedules: who does what in which round, at what time, to which replica, and how often it comes."""

from dataclasses import dataclass
from enum import StrEnum

from hypothesis import strategies as st

from knowledge.article import Mode


class Deed(StrEnum):
    """What a person does, or what Slack makes of it."""

    APPROVE = "approve"  # a word in the thread
    QUICK_APPROVE = "approve, the moment there is something to approve"
    CLICK_APPROVE = "click approve"
    CLICK_OLD_APPROVE = "click approve below an older version"
    REVISE = "revise: …"
    FORM = "the form of Request changes…"
    OLD_FORM = "the form of an older version"
    RESEARCH = "research: …"
    CANCEL = "cancel"
    CLICK_CANCEL = "click cancel"
    RETRY = "retry"
    STATUS = "status"
    EDIT = "edits an earlier message into an approval"
    TALK = "talk"


@dataclass(frozen=True, slots=True)
class Act:
    """One deed; `at` and `again` are ms, `again` is when a second delivery comes after the first.

    `at` is when it is done in its round; how long it waits for something to appear, for what is done then.
    """

    deed: Deed
    at: int
    replica: int
    again: int | None


@dataclass(frozen=True, slots=True)
class Round:
    """Deeds at once, each of another person, while agents do up to so many legs.

    `twice`: two workers have the same leg, as when a stalled one wakes up. `broken`: the model is away.
    """

    acts: tuple[Act, ...]
    legs: int
    twice: bool
    broken: bool


@dataclass(frozen=True, slots=True)
class Schedule:
    mode: Mode
    chance: int  # what decides how late answers are
    rounds: tuple[Round, ...]


# Approvals are what takes an article on, and a cancelled one has not much to tell.
DEEDS = st.sampled_from(
    [Deed.APPROVE, Deed.QUICK_APPROVE] * 6
    + [Deed.CLICK_APPROVE] * 10
    + [Deed.CLICK_OLD_APPROVE] * 6
    + [Deed.REVISE, Deed.FORM] * 8
    + [Deed.OLD_FORM, Deed.RESEARCH, Deed.RETRY] * 4
    + [Deed.STATUS, Deed.EDIT, Deed.TALK] * 2
    + [Deed.CANCEL, Deed.CLICK_CANCEL]
)

ACTS = st.builds(
    Act,
    deed=DEEDS,
    at=st.integers(0, 120),
    replica=st.integers(0, 1),
    again=st.sampled_from([None, None, 0, 5, 50]),
)

ROUNDS = st.builds(
    Round,
    acts=st.lists(ACTS, min_size=1, max_size=4).map(tuple),
    legs=st.sampled_from([0, 1, 2, 6, 6, 6]),
    twice=st.booleans(),
    broken=st.sampled_from([False] * 11 + [True]),
)

# In between one person speaks at a time, and agents end what they do: so that there are versions to speak of.
CALM = st.builds(
    Round,
    acts=st.builds(
        Act,
        deed=st.sampled_from([Deed.CLICK_APPROVE, Deed.REVISE, Deed.FORM]),
        at=st.just(0),
        replica=st.integers(0, 1),
        again=st.none(),
    ).map(lambda act: (act,)),
    legs=st.just(6),
    twice=st.just(False),
    broken=st.just(False),
)

SCHEDULES = st.builds(
    Schedule,
    mode=st.sampled_from([Mode.SUPERVISED] * 3 + [Mode.AUTO]),
    chance=st.integers(0, 2**32 - 1),
    rounds=st.lists(CALM | ROUNDS, min_size=4, max_size=8).map(tuple),
)
