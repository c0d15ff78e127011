"""Sentences of a document that can stand alone in an article, and whole code blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
    r"\b(?:see (?:also|below|above|the)|as follows|the following|below|above|(?:this|the) (?:table|figure|section|"
    r"chapter|document|page|article|cheat ?sheet|memo|note|runbook)|here is|click|listed|appendix|figure \d|table \d)\b"
    "|如下|下表|下图|上表|上图|见上|见下|参见|详见|本文|本节|本章|上述|下文|前文|以下|次の表|下記|以下の|上記|本稿|本章|本節|前述|後述|参照",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"(?:This|That|These|Those|It|Its|They|Their|Them|He|She|However|Therefore|Thus|Hence|So|But|And|Or|Also|Instead|"
    r"Otherwise|Moreover|Furthermore|Additionally|Such|Then|For (?:example|instance)|In (?:this|that|these|such|"
    r"addition|contrast|other words)|As a result|Because of (?:this|that)|Both|Neither|The (?:former|latter|same|"
    r"first|second|third|other|result|reason)|Next|Finally|Similarly|Likewise|Still|Yet|Only then|After that|Here|"
    r"There|If (?:so|not|it|this|they)|When (?:it|this|they)|Doing so|Not doing)\b"
    "|这|那|它|他们|此|其|因此|所以|但|不过|然而|而且|另外|此外|同时|例如|比如|于是|否则|相反|反之|前者|后者|两者|二者|也|并且|并|而|接着|最后|如此|换句话说"
    "|これ|それ|その|この|こう|そう|しかし|また|そのため|したがって|ただし|一方|例えば|たとえば|だから|そして|さらに|なお|つまり|前者|後者|両者|逆に|同様に|次に|最後に|すると"
)
_UNCLEAR = re.compile(r"\[[^\]]*\]\((?!https?://)|\[\^|</?[a-zA-Z]|\{\{|!\[|\]\[|https?://\S{60,}")
_MARKS_AT_START = re.compile(r"^(?:\*\*[^*]+[:：]\*\*|\*\*[^*]+\*\*[:：])")


@dataclass(frozen=True)
class Sentence:
    """`text` is on one line and otherwise verbatim. One that `leans` needs the sentence before it."""

    text: str
    place: int  # counted in its passage, with gaps where something not quotable stands between
    leans: bool


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block, whole, and the sentence behind which it stands."""

    text: str
    after: int


def quotable(text: str) -> tuple[list[Sentence], list[CodeBlock]]:
    """What of a passage can be quoted: whole sentences that state something, and code."""
    found: list[Sentence] = []
    code: list[CodeBlock] = []
    place = 0
    for kind, block in _blocks(text):
        if kind == "code":
            code.append(CodeBlock(block, place))
            continue
        place += 1  # a gap: the first sentence of a paragraph has none before it
        for start, end in sentences(block):
            place += 1
            sentence = one_line(block[start:end])
            if _stands_alone(sentence):
                found.append(Sentence(sentence, place, _LEANS.match(sentence.lstrip("*_\"'“「")) is not None))
    return found, code


def one_line(text: str) -> str:
    """The text without its line breaks: a blank for them, none between CJK characters."""
    return re.sub(
        r"\s*\n\s*",
        lambda gap: "" if _between_cjk(text, gap.start(), gap.end()) else " ",
        text.strip(),
    )


def _between_cjk(text: str, start: int, end: int) -> bool:
    wide = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
    return bool(wide.match(text[start - 1 : start]) and wide.match(text[end : end + 1]))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs and list items as ("prose", text), fences as ("code", text)."""
    prose: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if mark := _FENCE.match(line):
            yield from _prose(prose)
            fence = [line]
            for inside in lines:
                fence.append(inside)
                if (end := _FENCE.match(inside)) and end[1].startswith(mark[1]):
                    yield "code", "\n".join(fence)
                    break
        elif not line.strip() or _NO_PROSE.match(line):
            yield from _prose(prose)
        elif item := _ITEM.match(line):
            yield from _prose(prose)
            prose.append(line[item.end() :])
        else:
            prose.append(line)
    yield from _prose(prose)


def _prose(lines: list[str]) -> Iterator[tuple[str, str]]:
    if lines:
        yield "prose", "\n".join(lines)
        lines.clear()


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
