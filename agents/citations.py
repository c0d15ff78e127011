"""Citations in text: read in every form that people and models write, kept in one."""

import re
from collections.abc import Callable, Collection

# A fence or a code span. Behind three backticks that open a fence there is no other on the line.
_CODE = (
    r"(?P<fence>^[ \t]*(?P<marks>`{3,}(?=[^`\n]*\n)|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=marks)[`~]*[ \t]*$|\Z))"
    r"|(?P<span>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
)
# Code, a link or image with its target: what is inside is not a citation of this article.
_LEFT_ALONE = re.compile(
    rf"{_CODE}"
    r"|(?P<link>!?\[[^\]\n]*\]\([^)\n]*\))"
    r"|(?P<definition>^[ ]{0,3}\[[^\]\n]+\]:[^\n]*$)",
    re.DOTALL | re.MULTILINE,
)
_NUMBER = r"[1-9１-９][0-9０-９]{0,3}"
# One id, or a range: `S1-S3`, `S1–3`, `S1～S3`.
_ID = rf"[SsＳｓ]{_NUMBER}(?:[ \t]*[-‐‑–—−－~〜～][ \t]*[SsＳｓ]?{_NUMBER})?"
_LABEL = r"(?:(?:sources?|refs?|来源|资料|出典)[ \t]*[:：]?[ \t]*)?"
_LONGEST_RANGE = 50
_BETWEEN = r"[ \t]*(?:[,;，；、､/&]|and\b|和|と|及び)?[ \t]*"
# Brackets of one kind: `[S1]`, `(S1)`, `（S1）`, `【S1】`, `［S1］`, `〔S1〕`, with one id or several, with a
# label such as `Source: ` or not.
_BRACKETS = (("[", "]"), ("(", ")"), ("（", "）"), ("【", "】"), ("［", "］"), ("〔", "〕"))
_CITATION = re.compile(
    "|".join(
        rf"{re.escape(left)}[ \t]*(?i:{_LABEL}){_ID}(?:{_BETWEEN}{_ID})*[ \t]*{re.escape(right)}"
        for left, right in _BRACKETS
    )
)
_RUN = re.compile(rf"(?:{_CITATION.pattern})(?:[ \t]*(?:{_CITATION.pattern}))*")
# A link whose words are a citation: it looks like one, and leads wherever a model wants.
_DISGUISED = re.compile(
    rf"{_CODE}"
    rf"|!?\[{{1,3}}[ \t*_]{{0,9}}(?P<ids>{_ID}(?:{_BETWEEN}{_ID})*)[ \t*_]{{0,9}}\]{{1,3}}"
    r"\((?:[^()\n]|\([^()\n]*\))*\)",
    re.DOTALL | re.MULTILINE,
)
# The address of a link, in a line of its own: of `[S1]` it would make links of all citations in a file.
_DEFINITION = re.compile(
    rf"{_CODE}"
    r"|(?P<definition>^ {0,3}\[[^\]\n^][^\]\n]*\]:[ \t]*\n?[ \t]*<?(?:\w[\w+.-]*:|//)[^\n]*(?:\n|\Z))",
    re.DOTALL | re.MULTILINE,
)


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


def unlinked(text: str) -> str:
    """The text with citations that lead nowhere else: `[S1](https://…)` becomes `[S1]`."""
    return _DISGUISED.sub(lambda found: f"[{found['ids']}]" if found["ids"] else found[0], text)


def without_definitions(text: str) -> str:
    """The text without the addresses of links that stand apart from them (`[S1]: https://…`)."""
    return _DEFINITION.sub(lambda found: "" if found["definition"] else found[0], text)


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
    ids = []
    for found in re.findall(_ID, run):
        first, *last = (int(number) for number in re.findall(_NUMBER, found))
        ends = sorted([first, *last])
        # Too long to be meant: its ends are named, so that whoever checks them can say so.
        whole = range(ends[0], ends[-1] + 1) if ends[-1] - ends[0] <= _LONGEST_RANGE else ends
        ids += [f"S{number}" for number in whole]
    return ids
