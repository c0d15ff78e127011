"""A request as the offline model reads it: the tags of `agents.prompt` back into parts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agents.prompt import TAGS
from knowledge.language import Language

# An element holds none of its own name, and text of others opens and closes none: the first end is its end.
_ELEMENT = re.compile(
    rf"^<(?P<name>{'|'.join(sorted(TAGS))})(?P<attributes>(?: \w+=\"[^\"]*\")*)>"
    r"(?P<body>.*?)</(?P=name)>$",
    re.DOTALL | re.MULTILINE,
)
_LANGUAGES: dict[str, Language] = {"English": "en", "Chinese (Simplified)": "zh", "Japanese": "ja"}


@dataclass(frozen=True)
class Element:
    """A part of a request."""

    name: str
    attributes: dict[str, str]
    body: str

    def all(self, name: str) -> list["Element"]:
        """The elements of this name directly inside."""
        return [child for child in _children(self.body) if child.name == name]

    def one(self, name: str) -> "Element":
        """The first of them; an empty one if there is none."""
        return next(iter(self.all(name)), Element(name, {}, ""))

    def text(self, name: str) -> str:
        return self.one(name).body.strip()

    def ids(self, name: str) -> list[str]:
        """An attribute that lists ids."""
        return re.findall(r"S\d+", self.attributes.get(name, ""))


def read(prompt: str) -> Element:
    """A whole request as one element."""
    return Element("", {}, prompt)


def language_of_request(request: Element) -> Language:
    return _LANGUAGES.get(request.text("language"), "en")


def _children(body: str) -> Iterator[Element]:
    for found in _ELEMENT.finditer(body):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', found["attributes"]))
        yield Element(found["name"], attributes, found["body"].strip("\n"))
