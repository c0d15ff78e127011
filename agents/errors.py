"""What an agent could not do, in one sentence."""

from collections.abc import Mapping
from typing import Literal

Code = Literal[
    "nothing_found", "bad_answer", "model_refused_key", "model_unreachable", "budget", "unknown_model"
]


class AgentError(Exception):
    """`str(error)` is an English sentence that says how to mend it.

    `code` is stable. `facts` are for a sentence in another language: `host`, `model`, `topic`; and `answer`,
    what a model said that could not be used.
    """

    def __init__(self, code: Code, sentence: str, facts: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.code: Code = code
        self.facts: dict[str, str] = dict(facts or {})
