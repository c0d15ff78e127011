"""The article as a Markdown file: front matter, text, sources."""

import re
import unicodedata
from datetime import date

import yaml

from agents.contracts import DraftResult, Source
from knowledge.language import Language

_SOURCES_HEADING: dict[Language, str] = {"en": "Sources", "zh": "来源", "ja": "出典"}

# Han and kana are counted by character, as word processors do for Chinese and Japanese; the rest by word.
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W_{_CJK}]"
_WORD = re.compile(rf"[{_CJK}]|{_LETTER}+(?:['’\-.]{_LETTER}+)*")
_CITATION = re.compile(r"\[S\d+(?:, S\d+)*\]")


def words(markdown: str) -> list[str]:
    """The words of a text in order; a Chinese or Japanese character counts as one, a citation as none."""
    return _WORD.findall(_CITATION.sub(" ", markdown))


def word_count(markdown: str) -> int:
    return len(words(markdown))


def filename(title: str, article_id: int) -> str:
    """A name that every file system takes: letters and digits of the title, in any script, up to 60 bytes."""
    slug = ""
    for word in re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", title).lower()):
        longer = f"{slug}-{word}" if slug else word
        if len(longer.encode()) > 60:
            # A Chinese title is one long word: keep its beginning, whole characters only.
            slug = slug or longer.encode()[:60].decode(errors="ignore")
            break
        slug = longer
    return f"{slug or f'article-{article_id}'}.md"


def to_markdown(draft: DraftResult, sources: list[Source], *, language: Language, on: date) -> str:
    """The file that people get: only sources that the text cites are listed."""
    cited = [source for source in sources if source.id in draft.used_source_ids]
    front = {
        "title": draft.title,
        "description": draft.description,
        "tags": draft.tags,
        "categories": draft.categories,
        "date": on,
        "sources": [_source(source) for source in cited],
    }
    head = yaml.safe_dump(front, allow_unicode=True, sort_keys=False, width=10_000)
    listed = "\n".join(f"- [{source.id}] {_link(source)}" for source in cited)
    parts = [f"---\n{head}---", f"# {draft.title}", draft.content.strip()]
    if cited:
        parts.append(f"## {_SOURCES_HEADING[language]}\n\n{listed}")
    return "\n\n".join(parts) + "\n"


def _source(source: Source) -> dict[str, str]:
    where = {"url": source.url} if source.url else {"path": source.path} if source.path else {}
    return {"id": source.id, "title": source.title, **where}


def _link(source: Source) -> str:
    if source.url:
        title = source.title.replace("[", "\\[").replace("]", "\\]")
        return f"[{title}](<{source.url}>)"
    return f"{source.title} (`{source.path}`)" if source.path else source.title
