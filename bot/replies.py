"""What a reply in a thread means: a word that decides, a near miss of one, or talk. Pure."""

import re
from dataclasses import dataclass

from bot.slack_text import BLANK, plain, readable
from knowledge.article import Action


@dataclass(frozen=True, slots=True)
class Word:
    """A word that decides. `text` is what stands after the colon, as written ("" = the bare word).

    `section` is a number as typed; whether the article has such a section is not known here.
    """

    action: Action
    text: str
    section: int | None


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Begins with a decision word and does not parse, or is only a courtesy ("lgtm", 👍): decides nothing.

    `said` is the message on one line, short enough to be quoted.
    """

    said: str
    meant: Action
    courtesy: bool = False


@dataclass(frozen=True, slots=True)
class Talk:
    """Anything else: left alone."""


TALK = Talk()

# English, simplified and traditional Chinese, Japanese; compared after NFKC and case folding.
WORDS = {
    **dict.fromkeys(("approve", "通过", "通過", "批准", "同意", "承認"), Action.APPROVE),
    **dict.fromkeys(("revise", "修改", "修正"), Action.REVISE),
    **dict.fromkeys(("research", "补充", "補充", "調査"), Action.RESEARCH),
    **dict.fromkeys(("cancel", "取消", "キャンセル"), Action.CANCEL),
    **dict.fromkeys(("retry", "重试", "重試", "再試行"), Action.RETRY),
    **dict.fromkeys(("status", "状态", "狀態", "状態"), Action.STATUS),
}
_WORD_GOES_ON = re.compile(r"[a-z'’]")

# What may stand behind a word and change nothing. A question mark is missing, and so is trailing off ("…").
_GLAD = r"(?:[👍👌✅🎉🙏🚀]|:\+1:|:thumbsup:|:ok_hand:|:white_check_mark:|:tada:|:pray:|:rocket:)"
_SKIN = r"(?:[\U0001f3fb-\U0001f3ff]|:skin-tone-[2-6]:)"
_TAIL = rf"(?:[\s!,;~。、]|(?<!\.)\.(?!\.)|{_GLAD}{_SKIN}?)"

# Friendly, and no decision: the same is said to a colleague's remark as to the outline above it.
_COURTESY = (
    r"(?:lgtm|ok|okay|\+1|yes|approved|looks good(?: to me)?|ship it|go ahead|好|好的|可以|行|没问题|沒問題"
    r"|了解|收到|はい|okです|了解(?:です|しました)|承知しました|大丈夫です|いいですね|問題ありません)"
)
_ONLY_COURTESY = re.compile(rf"{_COURTESY}(?:{_TAIL}+{_COURTESY})*{_TAIL}*|{_TAIL}*{_GLAD}{_SKIN}?{_TAIL}*")

# Code fence, bold, italic, code. Not struck out (~): who strikes a word out takes it back.
_MARKS = re.compile(rf"(?:```|[*_`]|{BLANK})*")
_QUOTES = {"“": "”", "”": "”", "„": "“", '"': '"', "‘": "’", "'": "'", "「": "」", "『": "』", "«": "»"}
_QUOTED_LINES = re.compile(rf"\A{BLANK}*(?:&gt;&gt;&gt;.*|(?:&gt;[^\n]*(?:\n|\Z))+)", re.DOTALL)

# The colon that ends the word; not an emoji's, with white space before and a name behind: "revise :tada:".
_COLON = re.compile(r"(?<!\s):|:(?![\w+'-]+:)|[：﹕︓]")
_DIGITS = "一二三四五六七八九"
_SECTION = re.compile(
    rf"\s*(?:section|sec\.?|§|#|第)?\s*([0-9]{{1,4}}|[{_DIGITS}]?十[{_DIGITS}]?|[{_DIGITS}])\s*(?:节|節|章|部分)?"
)
_AROUND = " \t\n*_`~" + "".join({*_QUOTES, *_QUOTES.values()})
_SAID_CHARACTERS = 80


def read_reply(text: str, *, bot_user_id: str) -> Word | NearMiss | Talk:
    """Read a message as Slack sends it (escaped, with `<@…>` entities and mrkdwn marks); never raises.

    Lines in front that quote somebody are passed over: they are another person's words.
    """
    own = _without_mentions(_QUOTED_LINES.sub("", text), bot_user_id)
    return _word(own) or _near_miss(own) or TALK


def _without_mentions(text: str, bot_user_id: str) -> str:
    """Without mentions of the bot in front and at the end; one in mid-sentence is part of the sentence."""
    mention = rf"<@{re.escape(bot_user_id)}(?:\|[^>]*)?>"
    text = re.sub(rf"\A(?:(?:{BLANK}|[*_])*{mention}(?:{BLANK}|[,，、:：])*)+", "", text)
    while (last := text.rfind("<@")) >= 0 and re.fullmatch(rf"{mention}{BLANK}*", text[last:]):
        text = text[:last]
    return text


def _word(own: str) -> Word | None:
    marks = _MARKS.match(own)
    inner = own[marks.end() :] if marks else own
    if (colon := _COLON.search(inner)) is not None:
        head, body = inner[: colon.start()], inner[colon.end() :]
        if (named := _named(head)) is not None:
            opened = re.sub(BLANK, "", marks[0]) if marks else ""
            return _sensible(*named, readable(_closed(head, body, opened[::-1])))
    named = _named(inner, bare=True)
    return None if named is None else _sensible(*named, "")


def _sensible(action: Action, section: int | None, text: str) -> Word | None:
    """Only `revise` and `research` take words, only `revise` takes a section; "revise: …" says nothing."""
    text = text.strip()
    if not plain(text).strip():
        text = ""
    elif action not in (Action.REVISE, Action.RESEARCH) or not any(letter.isalnum() for letter in text):
        return None
    if section is not None and action is not Action.REVISE:
        return None
    return Word(action, text, section)


def _named(head: str, *, bare: bool = False) -> tuple[Action, int | None] | None:
    """The action and section that `head` names, if it names them and says nothing else.

    `bare`: there is nothing behind it, so it may stand in quotes and end in a full stop.
    """
    said = " ".join(re.sub(r"[*_`]", "", plain(head)).split())
    if bare and said and (closing := said.find(_QUOTES.get(said[0], "\n"), 1)) > 0:
        said = said[1:closing] + said[closing + 1 :]
    word = _first_word(said)
    if word is None:
        return None
    action, rest = WORDS[word], said[len(word) :]
    section = _SECTION.match(rest) if action in (Action.REVISE, Action.RESEARCH) else None
    if section is not None:
        rest = rest[section.end() :]
    if action is Action.STATUS:
        rest = rest.replace("?", "")  # asked or told, it is the same
    if re.fullmatch(rf"{_TAIL}*" if bare else r"\s*", rest) is None:
        return None
    return action, None if section is None else _number(section[1])


def _first_word(said: str) -> str | None:
    """The decision word that `said` (made plain) begins with; Chinese and Japanese need no space after it."""
    for word in WORDS:
        if said.startswith(word) and not (word.isascii() and _WORD_GOES_ON.match(said, len(word))):
            return word
    return None


def _number(numeral: str) -> int:
    if numeral.isdecimal():
        return int(numeral)
    tens, ten, ones = numeral.rpartition("十")
    return (10 * (_DIGITS.find(tens) + 1 if tens else 1) if ten else 0) + (
        _DIGITS.find(ones) + 1 if ones else 0
    )


def _closed(head: str, body: str, closing: str) -> str:
    """`body` without the marks that close what was opened before the word: `*revise:* …`, `*revise: …*`."""
    if not closing or closing in head:
        return body
    if body.startswith(closing):
        return body.removeprefix(closing)
    return body.rstrip().removesuffix(closing)


def _near_miss(own: str) -> NearMiss | None:
    said = " ".join(readable(own).split())
    short = said if len(said) <= _SAID_CHARACTERS else said[: _SAID_CHARACTERS - 1].rstrip() + "…"
    words = plain(own).strip(_AROUND)
    if len(words) <= _SAID_CHARACTERS and _ONLY_COURTESY.fullmatch(words):
        return NearMiss(short, Action.APPROVE, courtesy=True)
    word = _first_word(re.sub(rf"\A(?:{_GLAD}{_SKIN}?|\s)+", "", words))
    if word is None or WORDS[word] is Action.STATUS:
        return None  # "status quo": asking for the status decides nothing, so nothing was missed
    return NearMiss(short, WORDS[word])
