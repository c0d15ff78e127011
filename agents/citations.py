"""Citations in text: read in every form that people and models write, kept in one."""

import re
from collections.abc import Callable, Collection

# A fence, a code span, a link or image with its target: what is inside is not a citation of this article.
_LEFT_ALONE = re.compile(
    r"(?P<fence>^[ \t]*(?P<marks>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=marks)[`~]*[ \t]*$|\Z))"
    r"|(?P<span>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<link>!?\[[^\]\n]*\]\([^)\n]*\))"
    r"|(?P<definition>^[ ]{0,3}\[[^\]\n]+\]:[^\n]*$)",
    re.DOTALL | re.MULTILINE,
)
_ID = r"[SsＳｓ][1-9１-９][0-9０-９]{0,3}"
_BETWEEN = r"[ \t]*(?:[,;，；、､/&]|and\b|和|と|及び)?[ \t]*"
# Brackets of one kind: `[S1]`, `(S1)`, `（S1）`, `【S1】`, `［S1］`, `〔S1〕`, with one id or several.
_BRACKETS = (("[", "]"), ("(", ")"), ("（", "）"), ("【", "】"), ("［", "］"), ("〔", "〕"))
_CITATION = re.compile(
    "|".join(
        rf"{re.escape(left)}[ \t]*{_ID}(?:{_BETWEEN}{_ID})*[ \t]*{re.escape(right)}"
        for left, right in _BRACKETS
    )
)
_RUN = re.compile(rf"(?:{_CITATION.pattern})(?:[ \t]*(?:{_CITATION.pattern}))*")
_FULL_WIDTH = str.maketrans("Ｓｓs０１２３４５６７８９", "SSS0123456789")


def cited_ids(text: str) -> list[str]:
    """The ids that the text cites, each once, in order of first mention."""
    found: dict[str, None] = {}

    def collect(run: str) -> str:
        found.update(dict.fromkeys(_ids(run)))
        return run

    _each_run(text, collect)
    return list(found)


def normalised(text: str) -> str:
    """The text with each run of citations in the one stored form: `[S1]`, or `[S1, S2]` for several."""
    return _each_run(text, lambda run: f"[{', '.join(dict.fromkeys(_ids(run)))}]")


def without_citations(text: str) -> str:
    """The text without its citations and the blanks in front of them."""
    return re.sub(r"[ \t]*\x00", "", _each_run(text, lambda run: "\x00"))


def unknown_ids(text: str, known: Collection[str]) -> list[str]:
    """The ids that the text cites and nobody knows."""
    return [cited for cited in cited_ids(text) if cited not in known]


def _each_run(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` made to each run of citations outside code and links."""
    pieces: list[str] = []
    end = 0
    for left in _LEFT_ALONE.finditer(text):
        pieces += [_RUN.sub(lambda run: change(run[0]), text[end : left.start()]), left[0]]
        end = left.end()
    pieces.append(_RUN.sub(lambda run: change(run[0]), text[end:]))
    return "".join(pieces)


def _ids(run: str) -> list[str]:
    return [found.translate(_FULL_WIDTH) for found in re.findall(_ID, run)]
