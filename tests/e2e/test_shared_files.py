"""A file shared in an article's thread is a source of that article, and of the base if somebody wants it."""

import pytest

from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge.article import Article, Status
from knowledge.language import Language
from tests.e2e.desk import PATIENCE, TOPICS, Desk

FILES = {
    "en": (
        "rollout.md",
        "# The rollout at Example Ltd",
        "Example Ltd moved its Go backends from MD5 to Argon2id in nine weeks, one login at a time.",
    ),
    "zh": (
        "上线记录.md",
        "# 示例公司的上线记录",
        "示例公司用九周时间，在每次登录时把 Go 后端从 MD5 迁移到 Argon2id。",
    ),
    "ja": (
        "移行記録.md",
        "# 例示社の移行記録",
        "例示社はログインのたびに再ハッシュし、九週間で Go のバックエンドを MD5 から Argon2id へ移行した。",
    ),
}
NOTE = {
    "en": "is a source of this article now",
    "zh": "已成为本文的来源",
    "ja": "をこの記事の資料にしました",
}
BUTTONS = {
    "en": ("Add to the knowledge base too", "Remove"),
    "zh": ("也收入知识库", "移除"),
    "ja": ("ナレッジベースにも追加", "削除"),
}
REVISE = {
    "en": "revise: add the rollout at Example Ltd",
    "zh": "修改：补上示例公司的上线记录",
    "ja": "修正：例示社の移行記録を加える",
}
OUTLINE = {"en": "outline 1", "zh": "大纲 1", "ja": "構成案 1 を承認"}
each_language = pytest.mark.parametrize("language", FILES)


def file(language: Language) -> tuple[str, bytes]:
    name, title, text = FILES[language]
    return name, f"{title}\n\n{text}\n".encode()


async def at_outline(desk: Desk, language: Language = "en") -> Message:
    parent = await desk.request(TOPICS[language])
    await desk.asked(parent, OUTLINE[language])
    return parent


async def share(desk: Desk, parent: Message, language: Language = "en", text: str = "") -> Message:
    return await desk.ana.share_file(desk.channel, *file(language), thread_ts=parent.ts, text=text)


def researched(article: Article) -> list[str]:
    assert article.research is not None
    return [source["title"] for source in article.research["sources"]]


async def statuses(desk: Desk, article: Article) -> list[str]:
    return [move["to"] for move in await desk.knowledge.articles.history(article.id)]


@each_language
async def test_a_shared_file_is_a_source_of_its_article_alone_and_the_next_revision_reads_it(
    desk: Desk, language: Language
) -> None:
    await desk.start()
    parent = await at_outline(desk, language)
    title = FILES[language][1].removeprefix("# ")
    await share(desk, parent, language)
    note = await desk.said(parent, NOTE[language])
    assert title in plain_text(note)
    assert all(f"[{button}]" in plain_text(note) for button in BUTTONS[language])
    article = await desk.article(parent)
    [source] = await desk.knowledge.documents.sources_of_article(article.id)
    assert (source.title, source.added_by, source.article_id) == (title, desk.ana.id, article.id)
    words = FILES[language][2]
    assert title not in [one.title for one in await desk.knowledge.search.search(words)]
    assert title not in [one.title for one in await desk.knowledge.search.for_article(99).search(words)]
    assert title in [one.title for one in await desk.knowledge.search.for_article(article.id).search(words)]

    await desk.bo.say(desk.channel, REVISE[language], thread_ts=parent.ts)
    article = await desk.second_outline(parent)
    assert title in researched(article)
    assert (await statuses(desk, article))[-3:] == ["researching", "outlining", "awaiting_outline"]
    # It has been read: the next request is an ordinary one.
    await desk.bo.say(desk.channel, REVISE[language], thread_ts=parent.ts)
    await desk.until("select outline_version from articles", 3)
    article = await desk.article(parent, Status.AWAITING_OUTLINE)
    assert (await statuses(desk, article))[-2:] == ["outlining", "awaiting_outline"]


@each_language
async def test_a_file_that_comes_with_the_word_is_read_for_it(desk: Desk, language: Language) -> None:
    await desk.start()
    parent = await at_outline(desk, language)
    await share(desk, parent, language, text=REVISE[language])
    article = await desk.second_outline(parent)
    assert FILES[language][1].removeprefix("# ") in researched(article)
    assert NOTE[language] in "\n".join(map(plain_text, desk.bots(parent)))


async def test_a_revision_of_a_draft_and_of_a_published_article_reads_it_too(desk: Desk) -> None:
    await desk.start()
    parent = await at_outline(desk)
    await desk.bo.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.asked(parent, "draft 1")
    await share(desk, parent)
    await desk.said(parent, NOTE["en"])
    await desk.bo.say(desk.channel, REVISE["en"], thread_ts=parent.ts)
    await desk.asked(parent, "draft 2")
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert "The rollout at Example Ltd" in researched(article)
    assert (await statuses(desk, article))[-5:] == [
        *("researching", "outlining", "revising", "reviewing", "awaiting_approval")
    ]
    await desk.bo.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.article(parent, Status.PUBLISHED)
    await desk.ana.share_file(
        desk.channel, "later.md", b"# What came later\n\nThe Argon2id migration took twelve weeks in Go.",
        thread_ts=parent.ts,
    )  # fmt: skip
    await desk.said(parent, "What came later")
    await desk.bo.say(desk.channel, "revise: say what came later", thread_ts=parent.ts)
    await desk.asked(parent, "draft 3")
    assert "What came later" in researched(await desk.article(parent, Status.AWAITING_APPROVAL))


async def test_a_file_that_comes_while_agents_work_is_read_for_what_is_kept(desk: Desk) -> None:
    stop = await desk.start(worker=False)
    parent = await desk.request(TOPICS["en"])
    await share(desk, parent, text=REVISE["en"])
    await desk.said(parent, "Kept for outline 1")
    await desk.said(parent, NOTE["en"])
    await stop()
    await desk.start()
    await desk.asked(parent, "outline 1")
    assert "The rollout at Example Ltd" in researched(await desk.article(parent, Status.AWAITING_OUTLINE))


@each_language
async def test_by_its_button_it_is_a_source_of_every_article(desk: Desk, language: Language) -> None:
    await desk.start()
    parent = await at_outline(desk, language)
    title, words = FILES[language][1].removeprefix("# "), FILES[language][2]
    await share(desk, parent, language)
    note = await desk.said(parent, NOTE[language])
    before = len(desk.bots(parent))
    await desk.bo.click(note, BUTTONS[language][0])
    await desk.slack.wait_for(lambda: desk.bo.mention in (desk.slack.current(note) or note).text, PATIENCE)
    assert title in [one.title for one in await desk.knowledge.search.search(words)]
    assert len(desk.bots(parent)) == before
    shown = desk.slack.current(note)
    assert shown is not None
    assert "[" not in plain_text(shown)
    assert title in (await desk.next_whisper(desk.bo, 0)).text
    # A screen that was not refreshed: the same again, and nothing twice.
    await desk.ana.click(note, BUTTONS[language][0], stale=True)
    assert title in (await desk.next_whisper(desk.ana, 0)).text
    assert await desk.knowledge.pool.fetchval("select count(*) from documents where title = $1", title) == 1
    # The article reads it all the same.
    await desk.bo.say(desk.channel, REVISE[language], thread_ts=parent.ts)
    assert title in researched(await desk.second_outline(parent))


async def test_what_the_base_has_already_is_said_so_and_read_next(desk: Desk) -> None:
    await desk.start()
    parent = await at_outline(desk)
    elsewhere = await desk.ana.share_file(desk.channel, *file("en"))
    await desk.ana.shortcut(elsewhere, "Add to knowledge base")
    await desk.told(desk.ana, "is in the knowledge base now")
    await share(desk, parent)
    note = await desk.said(parent, "is in the knowledge base already")
    assert "[" not in plain_text(note)
    await desk.bo.say(desk.channel, REVISE["en"], thread_ts=parent.ts)
    article = await desk.second_outline(parent)
    assert "The rollout at Example Ltd" in researched(article)
    assert await desk.knowledge.documents.sources_of_article(article.id) == []


async def test_the_same_file_twice_is_one_source_and_one_note(desk: Desk) -> None:
    await desk.start()
    parent = await at_outline(desk)
    first = await share(desk, parent)
    await desk.said(parent, NOTE["en"])
    [event] = desk.slack.events_about(first)
    await desk.slack.redeliver(event)
    await desk.until("select count(*) from arrivals", 0)
    assert desk.ana.ephemerals == []
    await share(desk, parent)
    await desk.told(desk.ana, "is a source of this article already")
    assert sum(NOTE["en"] in plain_text(message) for message in desk.bots(parent)) == 1


async def test_several_files_are_told_one_by_one_and_bad_ones_to_their_author_alone(desk: Desk) -> None:
    await desk.start()
    parent = await at_outline(desk)
    name, content = file("en")
    files: dict[str, bytes | str] = {
        name: content,
        "空.md": b"",
        "locked.docx": b"PK\x03\x04 no such archive",
        "plan": "https://docs.example.com/plan",
    }
    await desk.ana.share_files(desk.channel, files, thread_ts=parent.ts)
    await desk.said(parent, NOTE["en"])
    await desk.slack.wait_for(lambda: len(desk.ana.ephemerals) == 3, PATIENCE)
    told = [plain_text(message) for message in desk.ana.ephemerals]
    assert all("was not added: " in one for one in told)
    assert [one.split(" ")[0] for one in told] == ["空.md", "locked.docx", "plan"]
    assert all(message.thread_ts == parent.ts for message in desk.ana.ephemerals)
    assert len(await desk.knowledge.documents.sources_of_article(1)) == 1


@pytest.mark.parametrize(
    ("language", "left"), [("en", "2 more links and files"), ("zh", "另有 2 个"), ("ja", "2 件の")]
)
async def test_of_very_many_files_those_that_are_left_are_said_to_their_author_alone(
    desk: Desk, language: Language, left: str
) -> None:
    await desk.start(worker=False)
    parent = await desk.request(TOPICS[language])
    name, content = file(language)
    files: dict[str, bytes | str] = {f"{number}-{name}": content + b"%d" % number for number in range(12)}
    await desk.ana.share_files(desk.channel, files, thread_ts=parent.ts)
    await desk.told(desk.ana, left)
    assert len(await desk.knowledge.documents.sources_of_article(1)) == 10


async def test_a_guests_file_and_one_for_a_cancelled_article_are_not_read(desk: Desk) -> None:
    guest = desk.slack.add_person("Gus", is_ultra_restricted=True)
    desk.slack.invite(desk.channel, guest)
    await desk.start()
    parent = await at_outline(desk)
    await guest.share_file(desk.channel, *file("en"), thread_ts=parent.ts)
    await desk.told(guest, "add nothing to the knowledge base")
    await desk.ana.say(desk.channel, "cancel", thread_ts=parent.ts)
    await desk.said(parent, "Cancelled by")
    await share(desk, parent)
    await desk.told(desk.ana, "This article was cancelled, so rollout.md was not read")
    assert await desk.knowledge.documents.sources_of_article(1) == []
    assert desk.slack.calls_of("files.info") == []


async def test_files_in_other_threads_are_nobodys_business(desk: Desk) -> None:
    await desk.start(worker=False)
    parent = await desk.bo.say(desk.channel, "Lunch?")
    await desk.ana.share_file(desk.channel, *file("en"), thread_ts=parent.ts)
    await desk.ana.share_file(desk.channel, *file("en"))
    mine = await desk.request(TOPICS["en"])
    await share(desk, mine)
    await desk.said(mine, NOTE["en"])
    await desk.until("select count(*) from arrivals", 0)
    assert len(desk.slack.calls_of("files.info")) == 1


@each_language
async def test_by_its_other_button_it_is_removed_and_the_thread_says_by_whom(
    desk: Desk, language: Language
) -> None:
    await desk.start()
    parent = await at_outline(desk, language)
    title, words = FILES[language][1].removeprefix("# "), FILES[language][2]
    await share(desk, parent, language)
    note = await desk.said(parent, NOTE[language])
    await desk.bo.click(note, BUTTONS[language][1])
    await desk.slack.wait_for(lambda: desk.bo.mention in (desk.slack.current(note) or note).text, PATIENCE)
    shown = desk.slack.current(note)
    assert shown is not None
    assert "[" not in plain_text(shown)
    assert title not in [one.title for one in await desk.knowledge.search.for_article(1).search(words)]
    [removal] = await desk.knowledge.pool.fetch("select * from removals")
    assert (removal["title"], removal["removed_by"], removal["added_by"]) == (title, desk.bo.id, desk.ana.id)
    await desk.bo.say(desk.channel, REVISE[language], thread_ts=parent.ts)
    article = await desk.second_outline(parent)
    assert title not in researched(article)
    assert (await statuses(desk, article))[-2:] == ["outlining", "awaiting_outline"]


@pytest.mark.parametrize("died", ["before Slack gave it", "before the thread was told"])
async def test_a_file_whose_bot_died_while_it_was_read_is_a_source_once(desk: Desk, died: str) -> None:
    desk.stack.callback(desk.slack.ack_failures.clear)  # of a bot that is gone
    pool, early = desk.knowledge.pool, died == "before Slack gave it"
    stop = await desk.start(worker=False)
    parent = await desk.request(TOPICS["ja"])
    if early:
        desk.slack.fail("files.info", drop="never")
    else:
        await pool.execute("alter table shared_sources rename to away")
    await share(desk, parent, "ja")
    await desk.slack.wait_for(lambda: desk.slack.calls_of("files.info"), PATIENCE)
    await desk.until("select count(*) from documents where article_id = 1", 0 if early else 1)
    await stop()
    if not early:
        await pool.execute("alter table away rename to shared_sources")
    await pool.execute("update arrivals set due_at = now()")
    await desk.start(worker=False)
    await desk.said(parent, NOTE["ja"])
    await desk.until("select count(*) from arrivals", 0)
    assert len(await desk.knowledge.documents.sources_of_article(1)) == 1
    assert sum(NOTE["ja"] in plain_text(message) for message in desk.bots(parent)) == 1
    assert desk.ana.ephemerals == []


async def test_a_file_whose_bot_died_after_the_thread_was_told_is_not_told_again(desk: Desk) -> None:
    pool = desk.knowledge.pool
    await pool.execute(
        """
        create table done as select * from arrivals with no data;
        create function keep() returns trigger language plpgsql
        as $$ begin insert into done select old.*; return old; end $$;
        create trigger keep after delete on arrivals for each row execute function keep();
        """
    )
    await desk.start(worker=False)
    parent = await desk.request(TOPICS["zh"])
    await share(desk, parent, "zh")
    await desk.said(parent, NOTE["zh"])
    await desk.until("select count(*) from arrivals", 0)
    await pool.execute("update done set due_at = now()")
    await pool.execute(
        "insert into arrivals overriding system value select * from done where what->>'kind' = 'spoken'"
    )
    await desk.until("select count(*) from arrivals", 0)
    assert await pool.fetchval("select count(*) from outbox where key like '%:note:file:%'") == 0
    assert sum(NOTE["zh"] in plain_text(message) for message in desk.bots(parent)) == 1


async def test_an_article_for_which_nothing_was_found_goes_on_with_a_shared_file(desk: Desk) -> None:
    await desk.start()
    parent = await desk.request("Feeding a sourdough starter")
    await desk.said(parent, "Share a file here")
    said = "A sourdough starter must be fed with rye flour twelve hours before baking."
    notes = f"# Feeding a sourdough starter\n\n{said}".encode()
    await desk.ana.share_file(desk.channel, "starter.md", notes, thread_ts=parent.ts)
    await desk.said(parent, NOTE["en"])
    await desk.ana.say(desk.channel, "retry", thread_ts=parent.ts)
    await desk.asked(parent, "outline 1")
    article = await desk.article(parent, Status.AWAITING_OUTLINE)
    assert researched(article) == ["Feeding a sourdough starter"]
