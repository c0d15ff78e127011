"""Which section people mean, by a number or by words in English, Chinese and Japanese: pure."""

import re
from collections.abc import Sequence

from agents.offline.relevance import role, terms

_ABOUT = re.compile(
    r"^(?:the |a |an |that |this |our )*(?:section|part|chapter|paragraph|heading|bit)s?"
    r" (?:on|about|regarding|called|with) "
    r"|^(?:the|a|an|that|this|our|关于|有关|那个|这个|那一|这一)\s*"
    r"|\s*(?:section|part|chapter|paragraph|(?:的|那|这)*(?:一)?(?:部分|章节|小节|那节|内容|节|章)"
    r"|の?(?:節|章|部分|セクション|項|話|説明|内容))$",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?:the )?(?:section|sec\.?|part|chapter|no\.?|number|§|#|第)?\s*"
    r"(?P<number>\d{1,2}|[一二三四五六七八九十]{1,2})\s*(?:st|nd|rd|th)?\s*(?:section|part|one|个|節|节|章|部分|番目|項)*",
    re.IGNORECASE,
)
_ORDINALS = {
    word: number
    for number, words in enumerate(
        (
            ("first", "第一节", "最初の節", "introduction", "intro", "引言", "导言", "序章"),
            ("second",),
            ("third",),
            ("fourth",),
            ("fifth",),
            ("sixth",),
            ("seventh",),
        ),
        start=1,
    )
    for word in words
}
_LAST_ONE = re.compile(
    r"(?:the )?last(?: one| section| part)?|最后(?:一)?(?:节|章|部分)|最後の(?:節|章|部分)", re.IGNORECASE
)
_ITSELF = re.compile(
    r"it(?: all| entirely| completely)?|everything"
    r"|(?:this|that|the)(?: whole| entire)?(?: section| part| one)?"
    r"|它|这个|这|该节|本节|(?:这|那)一?(?:节|部分|章)|全部"
    r"|これ|それ|(?:この|その|本)?(?:節|部分|セクション)|全体",
    re.IGNORECASE,
)
_QUOTATION_MARKS = " \"'“”「」『』《》‘’"
_MEANT = 0.6  # of the words that people say stand where they mean
_CHINESE_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九十", start=1)}


def place_of(
    what: str, headings: Sequence[str], descriptions: Sequence[str], bodies: Sequence[str]
) -> int | None:
    """The section that is meant by a number or by words: its place, from 0.

    Words are looked for in the headings, then in the descriptions; then by the part of an account that they
    name, which finds "migration" under a Chinese heading too; last in what the sections say.
    """
    said = what.strip(_QUOTATION_MARKS)
    if (place := _numbered(said, len(headings))) is not None:
        return place if 0 <= place < len(headings) else None
    subject = subject_of(said)
    wanted = terms(subject)
    if not wanted:
        return None
    for texts in (headings, descriptions):
        if (place := _best([len(wanted & terms(text)) / len(wanted) for text in texts], _MEANT)) is not None:
            return place
    if (part := role(subject)) is not None:
        for texts in (headings, descriptions):
            if (place := _best([float(role(text) == part) for text in texts], 1.0)) is not None:
                return place
    mentions = [
        sum(
            len(wanted & terms(sentence)) / len(wanted) >= _MEANT
            for sentence in re.split(r"[.。!！\n]+", body)
        )
        for body in bodies
    ]
    return _best([float(count) for count in mentions], 1.0)


def means_itself(what: str) -> bool:
    """Whether the words only point at the section that a request is for: "it", 这一节, この節."""
    return not what or _ITSELF.fullmatch(what.strip(_QUOTATION_MARKS)) is not None


def subject_of(what: str) -> str:
    """The words without "the section about"."""
    bare = what.strip(_QUOTATION_MARKS)
    shorter = _ABOUT.sub("", bare).strip()
    return shorter if terms(shorter) else bare


def _best(scores: Sequence[float], least: float) -> int | None:
    """The place of the highest score, the first of several; None if it is too low."""
    return scores.index(max(scores)) if scores and max(scores) >= least else None


def _numbered(said: str, count: int) -> int | None:
    if _LAST_ONE.fullmatch(said):
        return count - 1
    word = re.sub(r"^the | (?:section|part|one|paragraph)$", "", said.casefold())
    if word in _ORDINALS:
        return _ORDINALS[word] - 1
    if found := _NUMBER.fullmatch(said):
        digits = found["number"]
        if digits.isdigit():
            return int(digits) - 1
        if len(digits) == 1:
            return _CHINESE_DIGITS[digits] - 1
        return 10 + _CHINESE_DIGITS[digits[1]] - 1 if digits[0] == "十" else None
    return None
