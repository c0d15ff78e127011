"""What people wish of an outline or draft, read from their words in English, Chinese and Japanese: pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Drop:
    what: str


@dataclass(frozen=True)
class Move:
    """`to` is "first", "last", "before" or "after"; `beside` is the other section."""

    what: str
    to: str
    beside: str = ""


@dataclass(frozen=True)
class Swap:
    one: str
    other: str


@dataclass(frozen=True)
class Shorten:
    """`what` is "" for everything."""

    what: str


@dataclass(frozen=True)
class More:
    about: str


@dataclass(frozen=True)
class Rename:
    what: str
    heading: str


@dataclass(frozen=True)
class Words:
    """Anything else."""

    text: str


Wish = Drop | Move | Swap | Shorten | More | Rename | Words

_FIRST = r"(?:first|to the (?:top|front|beginning|start)|at the (?:top|front|beginning|start)|up front|up)"
_LAST = r"(?:last|to the (?:end|bottom)|at the (?:end|bottom)|down)"
_FIRST_ZH = r"(?:最前面|最前|前面|开头|開頭|首位|第一位|第一|前)"
_LAST_ZH = r"(?:最后面|最后|最後|末尾|结尾|結尾|后面|後面)"
_FIRST_JA = r"(?:一番前|最初|先頭|冒頭|先|前)"
_LAST_JA = r"(?:一番後ろ|最後|末尾|後ろ)"

_Maker = Callable[[Mapping[str, str]], Wish]


def _move(to: str) -> _Maker:
    return lambda found: Move(found["a"], to)


def _beside(found: Mapping[str, str]) -> Wish:
    word = found["side"].casefold()
    before = word in ("before", "above", "ahead of") or word[:1] in "前先"
    if word.startswith("之"):
        before = word[1:2] == "前"
    return Move(found["a"], "before" if before else "after", found["b"])


_RULES: tuple[tuple[str, _Maker], ...] = (
    # English
    (r"swap (?P<a>.+?) (?:and|with) (?P<b>.+)", lambda f: Swap(f["a"], f["b"])),
    (
        r"(?:rename|retitle|call) (?P<a>.+?) (?:to|as|into|:) ?[\"“'‘]?(?P<b>[^\"”’]+)[\"”'’]?",
        lambda f: Rename(f["a"], f["b"]),
    ),
    (
        r"(?:move|put|bring|place|have|set) (?P<a>.+?),? (?:right |directly )?"
        r"(?P<side>before|after|above|below|ahead of|behind) (?P<b>.+)",
        _beside,
    ),
    (
        rf"(?:move|put|bring|place|have|set|want) (?P<a>.+?),? (?:come |comes |go |goes )?{_FIRST}",
        _move("first"),
    ),
    (
        rf"(?:move|put|bring|place|have|set|want) (?P<a>.+?),? (?:come |comes |go |goes )?{_LAST}",
        _move("last"),
    ),
    (r"(?:start|begin|open|lead) (?:off )?with (?P<a>.+)", _move("first")),
    (r"(?:end|close|finish|conclude) with (?P<a>.+)", _move("last")),
    (r"(?P<a>.+?) (?:should (?:come|go|be) |comes |goes )?first", _move("first")),
    (r"(?P<a>.+?) (?:should (?:come|go|be) |comes |goes )?last", _move("last")),
    (r"(?:shorten|tighten|trim|condense|abridge)(?: (?P<a>.+))?", lambda f: Shorten(f["a"])),
    (
        r"(?:make |keep )?(?:(?P<a>.+?) )?(?:a (?:bit|little) |much )?"
        r"(?:shorter|short|briefer|brief|more concise|concise)",
        lambda f: Shorten(f["a"]),
    ),
    (r"cut (?P<a>.+?) (?:short|down)", lambda f: Shorten(f["a"])),
    (r"(?:say |write )?less (?:on|about|of) (?P<a>.+)", lambda f: Shorten(f["a"])),
    (r"shorter (?P<a>.+)", lambda f: Shorten(f["a"])),
    (
        r"(?:drop|remove|delete|cut|leave out|take out|skip|omit|get rid of|lose) (?P<a>.+)",
        lambda f: Drop(f["a"]),
    ),
    (
        r"(?:add |say |write |include |give |i want |we need |need )?(?:a |an |some |much )?"
        r"(?:more|something|section|part|paragraph|word|details?|bit)(?: details?| text| words?)?"
        r" (?:on|about|regarding|for|covering) (?P<a>.+)",
        lambda f: More(f["a"]),
    ),
    (
        r"(?:expand|elaborate|go deeper|go into detail)(?: more)?(?: on| upon| into)? (?P<a>.+)",
        lambda f: More(f["a"]),
    ),
    (r"(?:cover|mention|include|discuss|add) (?P<a>.+?)(?: too| as well| also)?", lambda f: More(f["a"])),
    # Chinese
    (r"(?:交换|对调|互换)(?P<a>.+?)(?:和|与|跟)(?P<b>.+)", lambda f: Swap(f["a"], f["b"])),
    (
        r"(?:把|将)?(?P<a>.+?)(?:改名为|更名为|标题改为|标题改成|改名成|重命名为)[“\"「『]?(?P<b>[^”\"」』]+)[”\"」』]?",
        lambda f: Rename(f["a"], f["b"]),
    ),
    (
        r"(?:把|将)?(?P<a>.+?)(?:放|移|挪|调|提|排)(?:在|到|至)(?P<b>.+?)(?P<side>之前|之后|前面|后面|前|后)",
        lambda f: (
            _beside(f)
            if not re.fullmatch("最|开头|结尾|首|文章|全文|", f["b"])
            else Move(f["a"], _end(f["side"]))
        ),
    ),
    (
        rf"(?:把|将)?(?P<a>.+?)(?:放|移|挪|调|提|排)(?:在|到|至)?(?:文章)?(?:的)?{_FIRST_ZH}(?:面)?",
        _move("first"),
    ),
    (
        rf"(?:把|将)?(?P<a>.+?)(?:放|移|挪|调|提|排)(?:在|到|至)?(?:文章)?(?:的)?{_LAST_ZH}(?:面)?",
        _move("last"),
    ),
    (r"(?:应该|要|请)?(?:首先|先)(?:讲|写|说|谈|介绍|说明)(?P<a>.+)", _move("first")),
    (r"(?:从|以)(?P<a>.+?)(?:开头|开始|开篇|讲起|写起|说起)", _move("first")),
    (r"(?:最后)(?:再)?(?:讲|写|说|谈|介绍)(?P<a>.+)", _move("last")),
    (r"(?:删除|删掉|删去|去掉|去除|移除|略去|拿掉|不要|不写|删)(?P<a>.+)", lambda f: Drop(f["a"])),
    (r"(?:把|将)?(?P<a>.+?)(?:删除|删掉|删去|去掉|去除|移除|略去|拿掉|删了)", lambda f: Drop(f["a"])),
    (r"(?:缩短|精简|压缩|简化)(?:一下)?(?P<a>.*)", lambda f: Shorten(f["a"])),
    (
        r"(?:把|将)?(?P<a>.*?)(?:再)?(?:写|改)?(?:得)?(?:缩短|精简|压缩|简短|简洁|短)(?:一点|一些|些|点|一下)?",
        lambda f: Shorten(f["a"]),
    ),
    (
        r"(?:多|再|更多|详细|增加|补充|添加|加上|加入|展开)(?:地)?(?:讲|写|说|谈|介绍|加|补充)?(?:一些|一点|一下|些|点)?(?:关于|有关)?(?P<a>.+?)"
        r"(?:的内容|的部分|的细节|部分)?",
        lambda f: More(f["a"]),
    ),
    # Japanese
    (r"(?P<a>.+?)と(?P<b>.+?)を(?:入れ替え|交換).*", lambda f: Swap(f["a"], f["b"])),
    (
        r"(?P<a>.+?)(?:の(?:題|見出し|タイトル))?を[「『\"]?(?P<b>[^」』\"]+?)[」』\"]?(?:に|へ)(?:改題|改名|変更|書き換え).*",
        lambda f: Rename(f["a"], f["b"]),
    ),
    (
        r"(?P<a>.+?)を(?P<b>.+?)の(?P<side>前|後ろ|後|あと)(?:に|へ).*",
        lambda f: Move(f["a"], "before" if f["side"] == "前" else "after", f["b"]),
    ),
    (rf"(?P<a>.+?)(?:を|は){_FIRST_JA}(?:に|へ).*", _move("first")),
    (rf"(?P<a>.+?)(?:を|は){_LAST_JA}(?:に|へ).*", _move("last")),
    (r"(?P<a>.+?)から(?:始め|書き始め|説明).*", _move("first")),
    (r"(?P<a>.+?)を(?:削除|外し|消し|省い|省略|なくし|カット|除い|取り除).*", lambda f: Drop(f["a"])),
    (r"(?P<a>.+?)は(?:不要|いらない|要らない).*", lambda f: Drop(f["a"])),
    (
        r"(?P<a>.*?)(?:を|は)?(?:もっと|もう少し|少し)?(?:短く|簡潔に|短縮|要約|縮め).*",
        lambda f: Shorten(f["a"]),
    ),
    (
        r"(?:もっと|もう少し|さらに)(?P<a>.+?)(?:について|に関して|に触れ|を(?:詳し|書|説明|追加|加え)).*",
        lambda f: More(f["a"]),
    ),
    (
        r"(?P<a>.+?)(?:について|に関して|を|に)?(?:も)?(?:もっと|さらに|より|もう少し)?(?:詳しく|多く|追加|加え|補足|書き足|触れ|掘り下げ).*",
        lambda f: More(f["a"]),
    ),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), make) for pattern, make in _RULES)

_POLITE = re.compile(
    r"^(?:please|kindly|could you|can you|let's|let us|also|then|and|but|maybe|we should|you should"
    r"|i(?:'d| would) like(?: you)? to"
    r"|请|请你|麻烦|可以|能不能|另外|然后|还有|再|并且|并|また|そして|それから|できれば)[,，、 ]*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"[,，、 ]*(?:please|thanks|thank you|吧|谢谢|お願いします|ください|下さい)$", re.IGNORECASE
)
_START = (
    r"(?:please |also )?(?:drop|remove|delete|cut|leave out|omit|move|put|bring|place|shorten|tighten|trim"
    r"|make|add|more|less|start|begin|end|rename|swap|expand|cover|mention|write|say|include)\b"
)
_CLAUSES = re.compile(
    rf"[;；。\n]+|[.!！](?:\s|$)|,?\s+(?:and then|then|and|but)\s+(?={_START})|,\s+(?={_START})"
    r"|[，,、](?=\s*(?:请|并|再|然后|另外|把|将|删|去掉|缩短|精简|先讲|先写|最后|补充|增加|多))|(?:して|し)、",
    re.IGNORECASE,
)


def wishes(text: str) -> list[Wish]:
    """What a request wishes, in order; what is not understood stays as words."""
    found: list[Wish] = []
    for clause in _CLAUSES.split(text):
        bare = clause.strip(" \t.!！。,，、:：")
        if not bare:
            continue
        polite = _THANKS.sub("", _POLITE.sub("", bare)).strip()
        found.append(_wish(polite) or Words(bare))
    return found


def _wish(clause: str) -> Wish | None:
    for pattern, make in _COMPILED:
        if found := pattern.fullmatch(clause):
            return make({name: (said or "").strip() for name, said in found.groupdict().items()})
    return None


def _end(side: str) -> str:
    return "first" if "前" in side else "last"
