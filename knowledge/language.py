"""Which of the three languages a text is in, told by its script alone."""

import re
from typing import Literal, get_args

Language = Literal["en", "zh", "ja"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HAN = re.compile(r"[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
# The middle dot U+30FB stands in Chinese names too, so it is no sign of Japanese.
_KANA = re.compile(r"[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d]+")
_KANJI_IN_A_ROW = 50  # no Japanese sentence has more without any kana
_CJK = r"\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9d"
_WORD = re.compile(rf"[^\W\d_{_CJK}][^\W_{_CJK}]*")


def language_of(text: str, *, otherwise: Language = "en") -> Language:
    """The language of `text`: kana means Japanese, Han without kana Chinese, words in letters English.

    A quotation does not turn a text around: CJK needs one character for each word in letters ("Go 后端 MD5
    迁移" is Chinese), Japanese one kana in twenty CJK characters. A text without letters is in `otherwise`.
    """
    han, kana = (0, 0) if text.isascii() else (_number(_HAN, text), _number(_KANA, text))
    if han + kana == 0:
        return "en" if _WORD.search(text) else otherwise
    if han + kana < len(_WORD.findall(text)):
        return "en"
    return "ja" if kana * 20 > han + kana else "zh"


def language_of_part(part: str, *, whole: Language) -> Language:
    """The language of a part of a document in `whole`: a few kanji alone are Japanese in Japanese text."""
    language = language_of(part, otherwise=whole)
    few = _number(_HAN, part) <= _KANJI_IN_A_ROW
    return "ja" if language == "zh" and whole == "ja" and few else language


def _number(script: re.Pattern[str], text: str) -> int:
    """How many characters of a script there are."""
    return sum(map(len, script.findall(text)))
