"""Web pages: the part of a page that is its text, and what the page says about itself."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import cast
from urllib.parse import urljoin, urlsplit

import lxml.html
from lxml import etree

from knowledge.blocks import Block
from knowledge.files import LoadError
from knowledge.language import LANGUAGES, Language, language_of
from knowledge.markup import Writer, is_skipped, words_of

_FEW = 600  # characters; a page with less is looked at for why
_PART = 0.9  # of what was found to be text; the smallest element that holds so much is the page's text
_DEEPEST = 30  # elements that stand around a page's text; of pages that people make a third
_AROUND = frozenset({"div", "section", "article", "main", "center", "form", "table", "tbody", "tr", "td"})
_BESIDE = frozenset({"aside", "footer", "nav"})
_ROLES_BESIDE = frozenset({"banner", "complementary", "contentinfo", "navigation", "search"})
_TITLE_ENDS = re.compile(r"\s+[|·–—»:]\s+|\s+-\s+")

# What they say about a page that they cannot read is nothing to whoever reads this program's log.
for _library in ("trafilatura", "htmldate"):
    logging.getLogger(_library).setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Page:
    """A page's text and what it says about itself."""

    text: str
    blocks: Sequence[Block]
    title: str | None
    canonical: str | None  # the address that it asks to be known by, on its own host
    published: date | None
    lang: Language


def read_page(html: str, *, url: str | None) -> Page:
    """The text of a page without what stands around it on every page of its site. Raises LoadError."""
    root = parsed(html)
    writer = Writer()
    writer.write(_main_part(root, html))
    if len(writer.text) < _FEW and (why := _why_no_text(root, writer.text)):
        raise LoadError(why)
    return Page(
        text=writer.text,
        blocks=writer.blocks,
        title=_title(root, writer.first_headings),
        canonical=_canonical(root, url),
        published=_published(root),
        lang=_language(root, writer.text),
    )


def parsed(html: str) -> "etree._Element":
    """The elements of HTML, however broken. Raises LoadError."""
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = lxml.html.document_fromstring(html.encode(errors="replace"), parser)
    except etree.ParserError:
        raise LoadError("empty: there is no text in it") from None
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        raise LoadError("nested deeper than a page can be: save its text as a file")  # the rest would be lost
    return root


def _main_part(root: "etree._Element", html: str) -> "etree._Element":
    """The element that holds the page's text: the one that the page names, else where the text was found."""
    body = root.find("body")
    body = root if body is None else body
    for path in ("//main", "//*[@role='main']", "//article"):
        named = [each for each in _elements(root, path) if not is_skipped(each)]
        if len(named) == 1 and len("".join(map(str, named[0].itertext())).strip()) > _FEW // 6:
            return named[0]
    for each in list(body.iter()):
        if each.tag in _BESIDE or each.get("role") in _ROLES_BESIDE:
            _drop(each)
    found = _found_text(html)
    return _smallest_with(body, found) if found else body


def _drop(element: "etree._Element") -> None:
    """Take an element out, and leave what stands after it."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if element.tail:
        if before is not None:
            before.tail = (before.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _found_text(html: str) -> Counter[str]:
    """The pieces of text that are the page's own, as far as trafilatura can tell.

    It knows the text from what stands around it, but loses headings and code on the way; so it is asked only
    where the text is.
    """
    import trafilatura  # it takes a third of a second, and most that is ingested is no page

    try:
        document = trafilatura.bare_extraction(
            html, favor_recall=True, include_comments=False, with_metadata=False
        )
    except Exception:  # a page on which it stumbles is read whole
        return Counter()
    body = getattr(document, "body", None)
    return Counter() if body is None else Counter(_pieces(body))


def _pieces(element: "etree._Element") -> list[str]:
    return [piece for text in element.itertext() if (piece := " ".join(str(text).split()))]


def _smallest_with(body: "etree._Element", found: Counter[str]) -> "etree._Element":
    """The smallest element that holds nearly all of what was found."""
    wanted = sum(len(piece) * count for piece, count in found.items())
    element = body
    for _ in range(_DEEPEST):  # each step reads all of the text again
        for child in element:
            if child.tag not in _AROUND:  # a paragraph would be without its heading
                continue
            pieces = Counter(_pieces(child)) & found
            if sum(len(piece) * count for piece, count in pieces.items()) >= _PART * wanted:
                element = child
                break
        else:
            break
    return element


def _why_no_text(root: "etree._Element", text: str) -> str | None:
    """Why there is so little text on a page; None if that is just what it has."""
    if _elements(root, "//input[@type='password']"):
        return "a login page: its text is behind a login; save the page there and add the file"
    for meta in _elements(root, "//meta[translate(@http-equiv, 'REFSH', 'refsh')='refresh']"):
        if target := re.search(r"url\s*=\s*['\"]?([^'\"]+)", meta.get("content") or "", re.IGNORECASE):
            return f"it only sends browsers on: give the address {target[1].strip()[:200]}"
    if not text and _elements(root, "//script"):
        return "empty without JavaScript: open it in a browser, save it as PDF, and add that"
    return None if text else "empty: there is no text in it"


def _title(root: "etree._Element", first_headings: Sequence[str]) -> str | None:
    """Its only heading of level 1, else what it gives for links, else the browser's title less the site's."""
    if len(first_headings) == 1:
        return first_headings[0]
    for path in ("//meta[@property='og:title']/@content", "//title/text()"):
        for words in _values(root, path):
            if title := " ".join(words.split()):
                return _TITLE_ENDS.split(title)[0] if path.startswith("//title") else title
    above = _elements(root, "//h1")  # beside the text
    words = words_of(above[0]) if len(above) == 1 else ""
    return words or next(iter(first_headings), None)


def _canonical(root: "etree._Element", url: str | None) -> str | None:
    """Kept only on the page's own host: no page may pass for another site's, nor for its own front page."""
    for path in ("//link[@rel='canonical']/@href", "//meta[@property='og:url']/@content"):
        for href in _values(root, path):
            try:
                address = urljoin(url or "", href.strip())
                parts, own = urlsplit(address), urlsplit(url or address)
            except ValueError:
                continue
            same_site = parts.scheme in ("http", "https") and parts.netloc == own.netloc
            if same_site and "@" not in parts.netloc and (parts.path.strip("/") or not own.path.strip("/")):
                return parts._replace(fragment="").geturl()
    return None


def _published(root: "etree._Element") -> date | None:
    """The day that the page names in its head or its marks; guesses from its words are left alone."""
    import htmldate  # as trafilatura

    try:
        found = htmldate.find_date(root, extensive_search=False, original_date=True)
        return date.fromisoformat(found) if found else None
    except Exception:  # hostile dates make parsers stumble in many ways; a page without a date is no loss
        return None


def _language(root: "etree._Element", text: str) -> Language:
    """By the script, since templates name any language; between Chinese and Japanese the page is asked."""
    language = language_of(text)
    stated = (root.get("lang") or "").lower().split("-")[0]
    if language == "en" or stated == "en":
        return language
    return next((each for each in LANGUAGES if each == stated), language)


def _elements(root: "etree._Element", path: str) -> "list[etree._Element]":
    return cast("list[etree._Element]", root.xpath(path))


def _values(root: "etree._Element", path: str) -> list[str]:
    """Of an XPath that ends in text or an attribute."""
    return [str(value) for value in cast("list[object]", root.xpath(path))]
