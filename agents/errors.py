"""What an agent could not do, in one sentence."""

from collections.abc import Mapping
from typing import Literal

# A code of its own where a person does something else: each has its sentence in `bot/texts.toml`.
Code = Literal[
    "nothing_found",
    "search_failed",
    "bad_answer",
    "answer_cut_off",
    "model_declined",
    "unknown_model",
    "model_refused_key",
    "model_no_credit",
    "model_unreachable",
    "model_timeout",
    "model_busy",
    "model_rejected",
    "not_a_model_host",
    "request_too_long",
    "budget",
]


# A model answered, and nobody can use it: another answer, or doing without, would help.
UNUSABLE: frozenset[Code] = frozenset({"bad_answer", "answer_cut_off", "model_declined"})


# What another model cannot help with, or must not try.
FINAL: frozenset[Code] = frozenset({"budget", "nothing_found", "search_failed"})


class AgentError(Exception):
    """`str(error)` is an English sentence that says how to mend it.

    `code` is stable. `facts` are for a sentence in another language: `host`, `model`, `topic`; `status`,
    `reason`, `said` and `wait` of a host, `key_setting` and `address_setting` (environment variables);
    `limit`, `unit` and `setting` of the budget; and `answer`, what a model said that could not be used.
    Nothing of a key ever stands in a sentence or a fact.
    """

    def __init__(
        self, code: Code, sentence: str, facts: Mapping[str, str] | None = None, *, said: str = ""
    ) -> None:
        super().__init__(sentence)
        self.code: Code = code
        self.facts: dict[str, str] = dict(facts or {})
        self.said = said  # all of `answer`, which is cut for the record
