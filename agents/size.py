"""How long a text is for a model."""

import re

# Scripts in which a token is about one character; of the others it is about four.
_DENSE = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uffee\U00020000-\U0003ffff]"
)


def tokens_of(text: str) -> int:
    """An estimate for any tokenizer, in tokens."""
    dense = len(_DENSE.findall(text))
    return dense + (len(text) - dense + 3) // 4
