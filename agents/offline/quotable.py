"""What of a document can stand alone in an article: whole sentences, and whole code blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agents.citations import cited_ids
from knowledge.language import language_of
from knowledge.sentences import sentences

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
# Lines that are no prose: headings, tables, rules, images, HTML, reference definitions, block markers alone.
_NO_PROSE = re.compile(
    r"^\s*(?:#{1,6}\s|\||[-=*_]{3,}\s*$|!\[|<[a-zA-Z/!]|\[[^\]]+\]:|:::|\+\+\+|\$\$)|^\s{4,}\S.*[{};()]\s*$"
)
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|^\s*>+\s?")
_CLOSERS = "\"'”’」』）)】》*_`"
_ENDS = ".!。！"
# Shortest and longest, in characters that say something; and what points outside the sentence.
_BOUNDS = {"en": (30, 420), "zh": (12, 200), "ja": (14, 240)}
_POINTS_ELSEWHERE = re.compile(
    r"\b(?:see (?:also|below|above|the)|as follows|the following|below|above|here is|click|listed|appendix"
    r"|(?:this|the) (?:table|figure|section|chapter|document|page|article|cheat ?sheet|memo|note|runbook)"
    r"|(?:figure|table) \d)\b"
    "|如下|下表|下图|上表|上图|见上|见下|参见|详见|本文|本节|本章|上述|下文|前文"
    "|以下|次の表|下記|上記|本稿|本節|前述|後述|参照",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"(?:This|That|These|Those|It|Its|They|Their|Them|He|She|However|Therefore|Thus|Hence|So|But|And|Or|Also"
    r"|Instead|Otherwise|Moreover|Furthermore|Additionally|Alternatively|Again|Conversely|Such|Then|Both|Neither"
    r"|For (?:example|instance)|In (?:this|that|these|such|addition|contrast|other words)|As a result"
    r"|Because of (?:this|that)|Next|Finally|Similarly|Likewise|Still|Yet|Only then|After that|Here|There"
    r"|The (?:former|latter|same|first|second|third|other|result|reason)|If (?:so|not|it|this|they)"
    r"|When (?:it|this|they)|Doing so|Not doing|Without (?:this|that|it))\b"
    "|这|那|它|他们|此|其|因此|所以|但|不过|然而|而且|另外|此外|同时|例如|比如|于是|否则|相反|反之|前者|后者|两者|二者"
    "|也|并且|并|而|接着|最后|如此|换句话说"
    "|これ|それ|その|この|こう|そう|しかし|また|そのため|したがって|ただし|一方|例えば|たとえば|だから|そして|さらに|なお"
    "|つまり|前者|後者|両者|逆に|同様に|次に|最後に|すると"
)
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_WIDE_MARK = re.compile(r"[\u3000-\u303f\uff01-\uff0f\uff1a-\uff1f]")
_UNCLEAR = re.compile(
    r"^\[\d|\bhere\]\(|\[\d{1,3}(?:[,–-]\s*\d{1,3})*\]|\[[^\]]*\]\((?!https?://)|\[\^|</?[a-zA-Z]|\{\{|!\[|\]\[|https?://\S{60,}"
)
_MARKS_AT_START = re.compile(r"^(?:\*\*[^*]+[:：]\*\*|\*\*[^*]+\*\*[:：])")


@dataclass(frozen=True)
class Sentence:
    """`text` is on one line and otherwise verbatim. One that `leans` needs the sentence before it."""

    text: str
    place: int  # counted in its passage, with gaps where something not quotable stands between
    leans: bool
    listed: bool  # in an item of a list: such are the likelier to be no whole sentence


@dataclass(frozen=True)
class _Block:
    kind: Literal["prose", "item", "code"]
    text: str


def quotable(text: str) -> list[Sentence]:
    """What of a passage can be quoted: whole sentences that state something."""
    found: list[Sentence] = []
    place = 0
    for block in _blocks(text):
        place += 1  # a gap: the first sentence of a paragraph has none before it
        for start, end in sentences(block.text) if block.kind != "code" else []:
            place += 1
            sentence = one_line(block.text[start:end])
            if _stands_alone(sentence):
                leans = _LEANS.match(sentence.lstrip("*_\"'“「")) is not None
                found.append(Sentence(sentence, place, leans, block.kind == "item"))
    return found


def code_blocks(text: str) -> list[str]:
    """The fenced blocks of a passage, whole."""
    return [block.text for block in _blocks(text) if block.kind == "code"]


def one_line(text: str) -> str:
    """The text without its line breaks: a blank for each, but none between or behind CJK characters."""

    def join(gap: re.Match[str]) -> str:
        before, after = text[gap.start() - 1], text[gap.end()]
        return "" if _WIDE_MARK.match(before) or (_WIDE.match(before) and _WIDE.match(after)) else " "

    text = text.strip()
    return re.sub(r"\s*\n\s*", join, text)


def _blocks(text: str) -> Iterator[_Block]:
    """Paragraphs, items of lists and fences.

    Items below a line that ends with a colon go on with its sentence: they are left out.
    """
    block: list[str] = []
    kind: Literal["prose", "item"] = "prose"
    introduced = False
    lines = iter([*text.splitlines(), ""])
    for line in lines:
        fence, item = _FENCE.match(line), _ITEM.match(line)
        if block and (fence or item or not line.strip() or _NO_PROSE.match(line)):
            if not (kind == "item" and introduced):
                yield _Block(kind, "\n".join(block))
            introduced = block[-1].rstrip().endswith((":", "：")) or (kind == "item" and introduced)
            block = []
        if fence:
            yield from _fenced(fence[1], line, lines)
        elif item:
            kind, block = "item", [line[item.end() :]]
        elif line.strip() and not _NO_PROSE.match(line):
            kind = kind if block else "prose"
            block.append(line)


def _fenced(mark: str, first: str, rest: Iterator[str]) -> Iterator[_Block]:
    """The block up to its closing fence; none if it has none."""
    code = [first]
    for line in rest:
        code.append(line)
        if (end := _FENCE.match(line)) and end[1].startswith(mark):
            yield _Block("code", "\n".join(code))
            return


def _stands_alone(sentence: str) -> bool:
    bare = sentence.rstrip(_CLOSERS)
    shortest, longest = _BOUNDS[language_of(sentence)]
    return (
        bare[-1:] in _ENDS
        and shortest <= len(sentence) <= longest
        and not sentence[:1].islower()
        and not _POINTS_ELSEWHERE.search(sentence)
        and not _UNCLEAR.search(sentence)
        and not _MARKS_AT_START.match(sentence)
        and sentence.count("`") % 2 == 0
        and sentence.count("**") % 2 == 0
        and not cited_ids(sentence)
    )
