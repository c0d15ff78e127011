"""Where sentences begin and end in English, Chinese and Japanese text."""

import re

_CLOSERS = "\"'”’」』）)】》〉］\\]"
_END = re.compile(
    rf"(?:[。！？｡]+|…{{2,}})[{_CLOSERS}。！？…]*"  # CJK: the mark alone ends a sentence
    rf"|[.!?…]+[{_CLOSERS}*_]*(?=\s)"  # Latin: the mark and white space
    r"|\n[ \t]*\n"  # a blank line ends anything
)
# Words whose full stop rarely ends a sentence.
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|cf|vs|al|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|No|Nos|Fig|Figs|Eq|Sec|Ch|Vol|pp|approx|resp|Inc|Ltd|Co)"
    r"|\b[A-Z])\.$"
)
_LONGEST_ABBREVIATION = 10  # characters, with the one before it: all of a long sentence each time takes hours
_NUMBER = re.compile(r"\s*\d+\.")  # of an item
_GOES_ON = re.compile(r"\s+[a-z]")


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans (start, end) of the sentences of prose, in order, without the white space between them.

    Nothing but white space lies outside the spans. A line break alone ends no sentence.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for mark in _END.finditer(text):
        end = mark.start() + 1
        if mark[0][0] == "." and (
            _ABBREVIATION.search(text[max(start, end - _LONGEST_ABBREVIATION) : end])
            or _NUMBER.fullmatch(text, start, end)
            or _GOES_ON.match(text, mark.end())
        ):
            continue
        _append_stripped(spans, text, start, mark.end())
        start = mark.end()
    _append_stripped(spans, text, start, len(text))
    return spans


def _append_stripped(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if stripped := piece.strip():
        start += len(piece) - len(piece.lstrip())
        spans.append((start, start + len(stripped)))
