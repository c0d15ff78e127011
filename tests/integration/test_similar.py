"""What was published before is pointed out for a similar topic, and only for one."""

from dataclasses import replace

import pytest

from knowledge.article import Article, Mode, Status
from knowledge.articles import Articles
from knowledge.changes import Change, NewArticle
from knowledge.database import Pool
from knowledge.language import Language
from knowledge.similar import SimilarArticles


async def article_on(
    pool: Pool, topic: str, language: Language = "en", team: str = "T1", channel: str = "C1"
) -> Article:
    new = NewArticle(topic, language, Mode.SUPERVISED, team, channel, "U1")
    return await Articles(pool).add(new, first_messages=lambda article: [])


async def published(pool: Pool, topic: str, title: str, team: str = "T1", channel: str = "C1") -> Article:
    article = await article_on(pool, topic, team=team, channel=channel)
    draft = {"title": title, "description": "…"}
    articles = Articles(pool)
    for status in (
        *(Status.OUTLINING, Status.AWAITING_OUTLINE, Status.WRITING, Status.REVIEWING),
        *(Status.AWAITING_APPROVAL, Status.PUBLISHING, Status.PUBLISHED),
    ):
        article = await articles.save(article, Change(replace(article, status=status, draft=draft), why="…"))
    return article


@pytest.mark.parametrize(
    ("before", "topic", "language"),
    [
        (
            "Why should Go backends move from MD5 to Argon2id?",
            "How do we migrate Go services from bcrypt to Argon2id?",
            "en",
        ),
        ("如何不停机修改数据库结构", "如何不停机迁移数据库", "zh"),
        ("パスワードのハッシュをどう選ぶか", "パスワードハッシュの移行手順", "ja"),
    ],
)
async def test_a_similar_topic_is_found_in_every_language(
    pool: Pool, before: str, topic: str, language: Language
) -> None:
    earlier = await published(pool, before, "…")
    await published(pool, "Sourdough at high altitude", "Bread in the mountains")
    found = await SimilarArticles(pool).published(await article_on(pool, topic, language))
    assert [one.id for one in found] == [earlier.id]


@pytest.mark.parametrize(
    ("before", "topic"),
    [
        ("Zero-downtime schema changes in PostgreSQL", "How should we size PostgreSQL connection pools?"),
        ("数据库连接池如何设置大小？", "如何不停机修改数据库结构"),
        ("Go の並行処理をどう学ぶか", "Go のログをどう集めるか"),
        ("The", "Why?"),
    ],
)
async def test_another_topic_of_the_same_field_is_not(pool: Pool, before: str, topic: str) -> None:
    await published(pool, before, before)
    assert await SimilarArticles(pool).published(await article_on(pool, topic)) == []


async def test_only_what_this_workspace_has_published_counts_and_the_nearest_comes_first(pool: Pool) -> None:
    topic = "Why should Go backends move from MD5 to Argon2id?"
    await published(pool, topic, topic, team="T2")
    await article_on(pool, topic)  # in work
    by_title = await published(pool, "Hashes", "Moving Go services to Argon2id, a plan")
    by_topic = await published(pool, topic, "…")
    own = await published(pool, topic, "…")
    found = await SimilarArticles(pool).published(own)
    assert [one.id for one in found] == [by_topic.id, by_title.id]
    assert [one.title for one in await SimilarArticles(pool).published(own, limit=1)] == ["…"]


async def test_what_was_made_in_direct_messages_is_pointed_out_only_there(pool: Pool) -> None:
    topic = "Why should Go backends move from MD5 to Argon2id?"
    alone = await published(pool, topic, "…", channel="D1")
    similar = SimilarArticles(pool)
    assert await similar.published(await article_on(pool, topic)) == []
    assert await similar.published(await article_on(pool, topic, channel="D2")) == []
    assert [one.id for one in await similar.published(await article_on(pool, topic, channel="D1"))] == [
        alone.id
    ]
