"""What the text of `/article` asks for: a subcommand, or a topic to write about. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.slack_text import INVISIBLE, plain, readable
from knowledge.language import Language

# A topic is asked of the search, stands in the first line of the status message and in every list. Two long
# sentences fit; what is longer is a brief, and belongs into the thread as `revise: …`.
TOPIC_CHARACTERS = 300

LONGEST_SHOWN = 200  # characters of an address in an answer

# Ids are `integer` in PostgreSQL: a larger number is no article's, and no query could even ask for it.
_LARGEST_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class StartArticle:
    topic: str  # white space folded, otherwise as typed
    auto: bool


@dataclass(frozen=True, slots=True)
class ListArticles:
    pass


@dataclass(frozen=True, slots=True)
class ShowStatus:
    pass


@dataclass(frozen=True, slots=True)
class CancelArticle:
    article_id: int


@dataclass(frozen=True, slots=True)
class LearnPage:
    url: str  # as typed


@dataclass(frozen=True, slots=True)
class ListSources:
    article_id: int | None  # None = of the knowledge base


@dataclass(frozen=True, slots=True)
class ForgetSource:
    document_id: int


@dataclass(frozen=True, slots=True)
class Help:
    pass


@dataclass(frozen=True, slots=True)
class BadCommand:
    """Nothing was started: the key and parameters of the sentence that says why."""

    key: str
    params: Mapping[str, str | int] = field(default_factory=dict)


Command = (
    StartArticle
    | ListArticles
    | ShowStatus
    | CancelArticle
    | LearnPage
    | ListSources
    | ForgetSource
    | Help
    | BadCommand
)

_SUBCOMMANDS: Mapping[str, Command] = {
    **dict.fromkeys(("help", "帮助", "幫助", "ヘルプ"), Help()),
    **dict.fromkeys(("list", "列表", "一覧"), ListArticles()),
    **dict.fromkeys(("status", "状态", "狀態", "状態"), ShowStatus()),
    **dict.fromkeys(("sources", "来源", "來源", "出典"), ListSources(None)),
    **dict.fromkeys(("learn", "学习", "學習", "学習"), BadCommand("usage_learn")),
}
# Numbers alone are no topic either: `cancel 12 13` is a cancel that went wrong.
_IDS = r"\s*(?P<ids>[#0-9,、\s]*)"
_CANCEL = re.compile(rf"(?:cancel\b|取消|キャンセル){_IDS}")
_FORGET = re.compile(rf"(?:forget\b|移除|删除|刪除|削除){_IDS}")
_SOURCES_OF = re.compile(rf"(?:sources\b|来源|來源|出典){_IDS}")

# As Slack sends it, so that the address keeps its case; `<address|label>` where Slack has made a link of it.
_LEARN = re.compile(r"\s*(?:learn|学习|學習|学習)\s+<?([^\s<>|]+)(?:\|[^<>]*)?>?\s*", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)

# Keyboards turn `--` into one dash, Chinese ones into two.
_AUTO = r"(?:--|[–—―]{1,2})auto"
_AUTO_IN_FRONT = re.compile(rf"{_AUTO}(?:\s|\Z)", re.IGNORECASE)
_AUTO_AT_THE_END = re.compile(rf"(?:\A|\s|(?<=[^\x00-\x7f])){_AUTO}\Z", re.IGNORECASE)

# Of the words above those that, as topics, would be taken for Chinese.
_JAPANESE_WORDS = ("学習", "削除", "出典", "状態")

# Opening quotation marks, each with what may close it (keyboards mix them up).
_QUOTES = {
    **dict.fromkeys('"“”„＂', '"“”＂'),
    **dict.fromkeys("'‘’", "'‘’"),
    "「": "」",
    "『": "』",
    "«": "»",
}
_EMOJI_CODE = re.compile(r":[a-z0-9_+'-]+:")
_KANA = re.compile("[ぁ-ゖゝ-ゟァ-ヺーｦ-ﾟ]")  # without the middle dot: it stands in names in Chinese, too
# Forms that neither simplified nor traditional Chinese uses (in neither GB 2312 nor Big5).
_KANJI_OF_JAPAN = re.compile(
    "[込枠働応変対図検関発売読続経済験険権覧県択駅歴実総戦価仮拡覚観気営単転処辺払広剤収録]"
)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def read_command(text: str) -> Command:
    """Read what was typed behind `/article`, escaped as Slack sends it; never raises.

    A subcommand counts only when the whole text fits its form; anything else is a topic, and quotation marks
    around it force one.
    """
    said = " ".join(readable(text).split())
    words = plain(said).strip()
    if (subcommand := _SUBCOMMANDS.get(words)) is not None:
        return subcommand
    if (cancel := _CANCEL.fullmatch(words)) is not None:
        number = _number(cancel["ids"], usage="usage_cancel", unknown="unknown_article")
        return CancelArticle(number) if isinstance(number, int) else number
    if (sources := _SOURCES_OF.fullmatch(words)) is not None:
        number = _number(sources["ids"], usage="usage_sources", unknown="unknown_article")
        return ListSources(number) if isinstance(number, int) else number
    if (forget := _FORGET.fullmatch(words)) is not None:
        number = _number(forget["ids"], usage="usage_forget", unknown="unknown_source")
        return ForgetSource(number) if isinstance(number, int) else number
    learn = _LEARN.fullmatch(INVISIBLE.sub("", text))
    if learn is not None and (page := _learn(readable(learn[1]))) is not None:
        return page
    said, auto = _without_auto(said)
    return _topic(_unquoted(said), auto=auto)


def topic_language(topic: str) -> Language:
    """The language of the article on `topic`: any kana is Japanese, any Han Chinese, the rest English.

    Other than in documents (`knowledge.language`) words in Latin letters do not count: topics are full of
    names ("Go、MD5、bcrypt の比較"). A topic in kanji alone is Japanese if one of them is written so only in
    Japan ("脆弱性対応"). The rare one without any ("移行手順") is taken for Chinese: nothing tells it apart.
    """
    if _KANA.search(topic) or _KANJI_OF_JAPAN.search(topic):
        return "ja"
    return "zh" if _HAN.search(topic) else "en"


def spoken_language(text: str, command: Command) -> Language:
    """The language to answer in: of a topic its own, of a subcommand that of its word."""
    if not isinstance(command, StartArticle) and plain(readable(text)).strip().startswith(_JAPANESE_WORDS):
        return "ja"
    return topic_language(text)


def _number(ids: str, *, usage: str, unknown: str) -> int | BadCommand:
    """The one id that was named; else why not, by the keys of two sentences."""
    numbers = re.findall("[0-9]+", ids)
    if len(numbers) != 1:
        return BadCommand(usage)
    # Compared by length first: Python refuses to read numbers of thousands of digits.
    digits = numbers[0].lstrip("0")
    if not 0 < len(digits) <= len(str(_LARGEST_ID)) or int(digits) > _LARGEST_ID:
        return BadCommand(unknown, {"id": numbers[0][:20]})
    return int(digits)


def _learn(word: str) -> LearnPage | BadCommand | None:
    """A page to learn; None for a word that is no address (`learn Go`).

    What is only nearly an address is told how to become one: an article called so would surprise.
    """
    scheme, found, rest = word.partition("://")
    if found and rest and _SCHEME.fullmatch(scheme):
        if scheme.lower() in ("http", "https"):
            return LearnPage(word)
        return BadCommand("learn_not_web", {"scheme": scheme[:20]})
    host, slash, _ = word.partition("/")
    if host.lower().startswith("www.") or (slash and "." in host.strip(".")):
        return BadCommand("learn_without_scheme", {"url": word[:LONGEST_SHOWN]})
    return None


def _without_auto(said: str) -> tuple[str, bool]:
    for flag in (_AUTO_IN_FRONT, _AUTO_AT_THE_END):
        if (found := flag.match(said) if flag is _AUTO_IN_FRONT else flag.search(said)) is not None:
            return (said[: found.start()] + said[found.end() :]).strip(), True
    return said, False


def _unquoted(said: str) -> str:
    closing = _QUOTES.get(said[:1], "")
    inner = said[1:-1]
    if len(said) < 2 or said[-1] not in closing or any(mark in inner for mark in said[0] + closing):
        return said  # not quoted as a whole: `"a" or "b"`
    return inner.strip()


def _topic(topic: str, *, auto: bool) -> Command:
    visible = INVISIBLE.sub("", topic).strip()
    if not visible:
        return BadCommand("empty_topic")
    if len(topic) > TOPIC_CHARACTERS:
        return BadCommand("topic_too_long", {"length": len(topic), "limit": TOPIC_CHARACTERS})
    if not any(letter.isalnum() for letter in _EMOJI_CODE.sub("", visible)):
        return BadCommand("topic_without_words")
    return StartArticle(topic, auto)
