"""The file people get."""

from datetime import date

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agents.contracts import DraftResult, DraftSection, Source
from bot.article_file import filename, to_markdown, word_count
from knowledge.language import Language

SOURCES = [
    Source(
        id="S1",
        title="Password [Storage]",
        url="https://example.com/a(b)",
        path=None,
        document_id=1,
        verified=True,
    ),
    Source(id="S2", title="密码存储", url=None, path="kb/密码.md", document_id=2, verified=True),
    Source(id="S3", title="Not cited", url=None, path=None, document_id=3, verified=True),
]
DRAFT = DraftResult(
    title='Argon2id: "why" and how',
    description="迁移说明：从 MD5 到 Argon2id",
    tags=["argon2id", "密码"],
    categories=["security"],
    sections=[DraftSection(heading="One", content="Text [S1].")],
    content="## One\n\nText [S1]. 文字[S2]。",
    used_source_ids=["S1", "S2"],
    notes=[],
)


def test_front_matter_reads_back_as_it_was_and_lists_only_what_is_cited() -> None:
    text = to_markdown(DRAFT, SOURCES, language="en", on=date(2026, 11, 30))
    _, head, body = text.split("---\n", 2)
    assert yaml.safe_load(head) == {
        "title": DRAFT.title,
        "description": DRAFT.description,
        "tags": DRAFT.tags,
        "categories": DRAFT.categories,
        "date": date(2026, 11, 30),
        "sources": [
            {"id": "S1", "title": "Password [Storage]", "url": "https://example.com/a(b)"},
            {"id": "S2", "title": "密码存储", "path": "kb/密码.md"},
        ],
    }
    assert body == (
        '\n# Argon2id: "why" and how\n\n## One\n\nText [S1]. 文字[S2]。\n\n## Sources\n\n'
        "- [S1] [Password \\[Storage\\]](<https://example.com/a(b)>)\n- [S2] 密码存储 (`kb/密码.md`)\n"
    )


@pytest.mark.parametrize(
    ("language", "heading"), [("en", "## Sources"), ("zh", "## 来源"), ("ja", "## 出典")]
)
def test_the_list_of_sources_speaks_the_articles_language(language: Language, heading: str) -> None:
    assert heading in to_markdown(DRAFT, SOURCES, language=language, on=date(2026, 1, 1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Argon2id isn't MD5 [S1, S2].", 3),
        ("密码存储", 4),
        ("パスワードを 12 回", 8),
        ("Go 后端 v1.2.3", 4),
        ("", 0),
        ("🎉 — …", 0),
    ],
)
def test_words_are_counted_in_each_script(text: str, words: int) -> None:
    assert word_count(text) == words


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Moving Go from MD5 to Argon2id", "moving-go-from-md5-to-argon2id.md"),
        ("Go 后端迁移", "go-后端迁移.md"),
        ("パスワードの保存", "パスワードの保存.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("🎉🎉", "article-7.md"),
        ("", "article-7.md"),
    ],
)
def test_a_file_is_named_after_its_title(title: str, name: str) -> None:
    assert filename(title, 7) == name


@given(st.text())
def test_any_title_gives_a_name_that_file_systems_take(title: str) -> None:
    name = filename(title, 7)
    assert name.endswith(".md")
    assert len(name.encode()) <= 63
    assert not set(name) & set('/\\:*?"<>| \0\n')
