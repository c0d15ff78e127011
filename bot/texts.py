"""What the bot says, in three languages, from `texts.toml` (which says how placeholders are written)."""

import logging
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.elements import Element, is_url, link_element, text_element
from bot.fitting import clean, shorten
from bot.render import entities, escape
from knowledge.language import Language

log = logging.getLogger(__name__)

TEXTS: dict[str, dict[Language, str]] = tomllib.loads(
    Path(__file__).with_name("texts.toml").read_text(encoding="utf-8")
)

LONGEST_NAME = 80  # of what stands where an id should

_PLACEHOLDER = r"\{(?P<name>\w+)(?::(?P<form>[^{}?]+))?(?:\?(?P<otherwise>[^{}]*))?\}"
_PART = re.compile(rf"`(?P<code>[^`]+)`|\[(?P<label>[^\]]+)\]\(\{{(?P<link>\w+)\}}\)|{_PLACEHOLDER}")
_NUMBER = re.compile(r"[0-9]{1,15}")
_PERSON = re.compile(r"[UW][A-Z0-9]+")
_PERSON_OR_GROUP = re.compile(r"[UWS][A-Z0-9]+")


class TextError(Exception):
    """A text was asked for that `texts.toml` does not have, or with other parameters than it names."""


@dataclass(frozen=True, slots=True)
class Words:
    """`foreign`: not ours, so it goes through `escape` on its way to mrkdwn."""

    text: str
    code: bool = False
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Mention:
    """Somebody by Slack id: a person (`U…`, `W…`) or a group (`S…`)."""

    id: str


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    label: str


Piece = Words | Mention | Link


def say(language: Language, key: str, /, **params: str | int) -> str:
    """A text as mrkdwn, its parameters made harmless; raises `TextError`."""
    return "".join(map(_mrkdwn, pieces(language, key, params)))


def say_plain(language: Language, key: str, /, **params: str | int) -> str:
    """A text for where Slack takes no marks (headers, buttons, modals) and for what is stored."""
    return "".join(map(_plain, pieces(language, key, params)))


def say_elements(language: Language, key: str, params: Mapping[str, str | int]) -> list[Element]:
    """A text as the elements of a rich_text section."""
    return [element for piece in pieces(language, key, params) for element in _elements(piece)]


def failure(language: Language, code: str, facts: Mapping[str, str]) -> str:
    """Why an article failed, for people, as plain text: of the facts what the sentence has a place for.

    Never raises: a failure whose sentence is missing is told as one that nobody foresaw.
    """
    key = f"failed_{code}"
    try:
        return say_plain(
            language, key, **{name: facts[name] for name in parameters(language, key) & facts.keys()}
        )
    except TextError:
        log.exception("no sentence for the failure %s", code)
        return say_plain(language, "failed_unexpected")


def parameters(language: Language, key: str) -> set[str]:
    """The names a text has places for; raises `TextError`."""
    names = re.findall(r"\{(\w+)[:?}]", _template(language, key))
    return set(names)


def pieces(language: Language, key: str, params: Mapping[str, str | int]) -> Iterator[Piece]:
    """The parts of a text with its parameters in their places; raises `TextError`."""
    params = {name: clean(value) if isinstance(value, str) else value for name, value in params.items()}
    if params.get("text") == "" and f"{key}_bare" in TEXTS:
        key, params = f"{key}_bare", {name: value for name, value in params.items() if name != "text"}
    if unknown := params.keys() - parameters(language, key):
        raise TextError(f"the text {key} has no place for {', '.join(sorted(unknown))}")
    yield from _filled(language, key, _template(language, key), params)


def _template(language: Language, key: str) -> str:
    if key not in TEXTS:
        raise TextError(f"there is no text {key}")
    return TEXTS[key][language].lstrip("\n")


def _filled(language: Language, key: str, template: str, params: Mapping[str, str | int]) -> Iterator[Piece]:
    at = 0
    for part in _PART.finditer(template):
        if part.start() > at:
            yield Words(template[at : part.start()])
        at = part.end()
        if part["code"] is not None:
            yield Words(_as_plain(language, key, part["code"], params), code=True)
        elif part["label"] is not None:
            yield Link(
                str(_value(key, part["link"], params)), _as_plain(language, key, part["label"], params)
            )
        elif part["otherwise"] is not None and part["name"] not in params:
            yield Words(part["otherwise"])
        else:
            yield from _value_in_form(language, _value(key, part["name"], params), part["form"])
    if at < len(template):
        yield Words(template[at:])


def _as_plain(language: Language, key: str, template: str, params: Mapping[str, str | int]) -> str:
    return "".join(map(_plain, _filled(language, key, template, params)))


def _value(key: str, name: str, params: Mapping[str, str | int]) -> str | int:
    if name not in params:
        raise TextError(f"the text {key} needs {name}")
    return params[name]


def _value_in_form(language: Language, value: str | int, form: str | None) -> Iterator[Piece]:
    match form:
        case None:
            yield Words(str(value), foreign=True)
        case ",":
            yield Words(f"{int(value):,}" if _NUMBER.fullmatch(str(value)) else str(value), foreign=True)
        case "@":
            yield from _mentions(str(value), _PERSON)
        case "@+":
            yield from _mentions(str(value), _PERSON_OR_GROUP)
        case _ if "|" in form:
            one, many = form.split("|")
            yield Words(one if str(value) == "1" else many)
        case _:
            key = f"{form}{value}"
            yield Words(say_plain(language, key) if key in TEXTS else str(value), foreign=key not in TEXTS)


def _mentions(text: str, allowed: re.Pattern[str]) -> Iterator[Piece]:
    """Ids, one or several with commas between them, become mentions; anything else stays words."""
    ids = text.split(", ")
    if not all(map(allowed.fullmatch, ids)):
        yield Words(shorten(text, LONGEST_NAME), foreign=True)
        return
    for number, slack_id in enumerate(ids):
        if number:
            yield Words(", ")
        yield Mention(slack_id)


def _mrkdwn(piece: Piece) -> str:
    match piece:
        case Words(text, foreign=True):
            return escape(text)
        case Words(text, code):
            return f"`{entities(text)}`" if code else entities(text)
        case Mention(id):
            return f"<!subteam^{id}>" if id.startswith("S") else f"<@{id}>"
        case Link(url, label):
            return f"<{url.replace('&', '&amp;')}|{escape(label)}>" if is_url(url) else escape(label)


def _plain(piece: Piece) -> str:
    match piece:
        case Words(text):
            return text
        case Mention(id):
            return f"@{id}"
        case Link(_, label):
            return label


def _elements(piece: Piece) -> Iterator[Element]:
    match piece:
        case Words(text, code) if text:
            yield text_element(text, **({"code": True} if code else {}))
        case Mention(id) if id.startswith("S"):
            yield {"type": "usergroup", "usergroup_id": id}
        case Mention(id):
            yield {"type": "user", "user_id": id}
        case Link(url, label) if label:
            yield link_element(url, label)
