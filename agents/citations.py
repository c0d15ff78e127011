"""Citations in text: read in every form that people and models write, kept in one."""

import re
from collections.abc import Callable, Collection, Iterator

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
_NUMBER = r"0{0,3}[1-9１-９][0-9０-９]{0,3}"
# One id, or a range: `S1-S3`, `S1–3`, `S1～S3`.
_END = r"(?![0-9０-９])"
_TO = r"[ \t]*[-‐‑–—−－~〜～][ \t]*[SsＳｓ]?"
_ID = rf"[SsＳｓ][ \u200b]?{_NUMBER}{_END}(?:{_TO}{_NUMBER}{_END})?"
_LABEL = r"(?:(?:sources?|refs?|来源|资料|出典)[ \t]*(?:[:：][ \t]*)?)?"
_BETWEEN = r"[ \t]*(?:(?:[,;，；、､/&]|and\b|和|と|及び)[ \t]*)?"
_LONGEST_RANGE = 50
# Round brackets hold much else, so they are a citation only of ids with signs between them.
_ROUND = "|".join(
    rf"{left}[ \t]{{0,9}}(?i:{_LABEL}){_ID}(?:{_BETWEEN}{_ID}){{0,40}}[ \t]{{0,9}}{right}"
    for left, right in ((r"\(", r"\)"), ("（", "）"))
)
# Square ones may also say where in a source, and what nobody has to read: `[see S1, p. 3]`, `[**S1**, P12]`.
_SQUARE = "|".join(
    rf"{left}[^\[\]【】［］〔〕{{}}\n]{{1,120}}{right}"
    for left, right in ((r"\[", r"\]"), ("【", "】"), ("［", "］"), ("〔", "〕"), (r"\{", r"\}"))
)
_BRACKETS = re.compile(rf"(?P<round>{_ROUND})|{_SQUARE}")
_CITED = re.compile(rf"(?<![A-Za-z0-9]){_ID}(?![A-Za-z])")
_BESIDE = re.compile(
    r"(?<![A-Za-z])(?:P\d{1,12}|see|cf|sources?|refs?|and|or|also|pp?|pages?|sections?|lines?)(?![A-Za-z])"
    r"|来源|资料|出典|参见|参照|另见|見|见|和|与|或|及び|及|と|第|页|頁|ページ|节|節|章|[\d\W_]",
    re.IGNORECASE,
)
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
    r"|(?P<definition>^ {0,3}\[[^\]\n^][^\]\n]*\]:[ \t]*(?:\n[ \t]*)?<?(?:\w[\w+.-]*:|//)[^\n]*(?:\n|\Z))",
    re.DOTALL | re.MULTILINE,
)


def cited_ids(text: str, known: Collection[str] | None = None) -> list[str]:
    """The ids that the text cites, each once, in order of first mention.

    With `known`, round brackets around other ids are no citations: `Simple Storage Service (S3)`.
    """
    found: dict[str, None] = {}

    def collect(ids: list[str]) -> str:
        found.update(dict.fromkeys(ids))
        return ""

    _each_run(text, known, collect)
    return list(found)


def normalised(text: str, known: Collection[str] | None = None) -> str:
    """The text with each run of citations in the one stored form: `[S1]`, or `[S1, S2]` for several."""
    return _each_run(text, known, lambda ids: f"[{', '.join(dict.fromkeys(ids))}]")


def without_citations(text: str) -> str:
    """The text without its citations and the blanks in front of them."""
    return re.sub(r"[ \t]{0,99}\x00", "", _each_run(text, None, lambda ids: "\x00"))


def unlinked(text: str) -> str:
    """The text with citations that lead nowhere else: `[S1](https://…)` becomes `[S1]`."""
    return _DISGUISED.sub(lambda found: f"[{found['ids']}]" if found["ids"] else found[0], text)


def without_definitions(text: str) -> str:
    """The text without the addresses of links that stand apart from them (`[S1]: https://…`)."""
    return _DEFINITION.sub(lambda found: "" if found["definition"] else found[0], text)


def unknown_ids(text: str, known: Collection[str]) -> list[str]:
    """The ids that the text cites and nobody knows."""
    return [cited for cited in cited_ids(text, known) if cited not in known]


def unread(text: str) -> list[str]:
    """Square brackets that name an id and are no citation, such as `[S1 says so]`."""
    return [
        found[0]
        for part in _outside_code(text)
        for found in _BRACKETS.finditer(part)
        if found["round"] is None and _CITED.search(found[0]) and not _ids_in(found, None)
    ]


def _outside_code(text: str) -> Iterator[str]:
    end = 0
    for left in _LEFT_ALONE.finditer(text):
        yield text[end : left.start()]
        end = left.end()
    yield text[end:]


def _each_run(text: str, known: Collection[str] | None, change: Callable[[list[str]], str]) -> str:
    """The text with `change` made to each run of citations outside code and links."""
    pieces: list[str] = []
    end = 0
    for left in _LEFT_ALONE.finditer(text):
        pieces += [_changed(text[end : left.start()], known, change), left[0]]
        end = left.end()
    pieces.append(_changed(text[end:], known, change))
    return "".join(pieces)


def _changed(text: str, known: Collection[str] | None, change: Callable[[list[str]], str]) -> str:
    """Citations side by side are one run."""
    pieces: list[str] = []
    end = begun = 0
    run: list[str] = []
    for found in _BRACKETS.finditer(text):
        if not (ids := _ids_in(found, known)):
            continue
        if run and text[end : found.start()].strip(" \t"):
            pieces.append(change(run))
            run, begun = [], end
        if not run:
            pieces.append(text[begun : found.start()])
        run += ids
        end = begun = found.end()
    if run:
        pieces.append(change(run))
    return "".join([*pieces, text[begun:]])


def _ids_in(bracket: re.Match[str], known: Collection[str] | None) -> list[str]:
    """The ids that a bracket cites; [] if it is no citation."""
    said = bracket[0]
    ids = [found for cited in _CITED.finditer(said) for found in _ids_of(cited[0])]
    if bracket["round"] is not None:
        return [] if known is not None and not set(ids) & {*known} else ids
    return [] if _BESIDE.sub("", _CITED.sub("", said)) else ids


def _ids_of(cited: str) -> list[str]:
    """Of one id, or of a range."""
    first, *last = (int(number) for number in re.findall(_NUMBER, cited))
    ends = sorted([first, *last])
    # Too long to be meant: its ends are named, so that whoever checks them can say so.
    whole = range(ends[0], ends[-1] + 1) if ends[-1] - ends[0] <= _LONGEST_RANGE else ends
    return [f"S{number}" for number in whole]
