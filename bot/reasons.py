"""Why a file or page was not read, in the reader's language: `knowledge` gives its reasons in English."""

import re
import tomllib
from pathlib import Path

from knowledge.language import Language

_FILE = Path(__file__).with_name("reasons.toml")
_REASONS = [
    (re.compile(reason["pattern"], re.DOTALL), reason)
    for reason in tomllib.loads(_FILE.read_text(encoding="utf-8"))["reason"]
]


def reason_in(language: Language, reason: str) -> str:
    """The reason in this language; one that `reasons.toml` does not have stays English."""
    if language == "en":
        return reason
    for pattern, words in _REASONS:
        if (found := pattern.fullmatch(reason)) is not None:
            # What was found may be a reason itself: why it leads nowhere.
            told: str = words[language].format(*(reason_in(language, part) for part in found.groups()))
            return told
    return reason
