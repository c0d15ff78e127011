"""The knowledge base from Slack: `/article learn URL`, and the shortcut in a message's menu."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from bot import arrivals
from bot.local_slack.people import Person
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge import inbox
from knowledge.language import Language
from knowledge.sources import Source
from tests.e2e.desk import PATIENCE, Desk
from tests.e2e.site import PAGES, Site, site_for

SHORTCUT = "Add to knowledge base"
LOCALES = {"en": "en-GB", "zh": "zh-CN", "ja": "ja-JP"}
LEARN = {"en": "learn", "zh": "学习", "ja": "学習"}
ADDED = {
    "en": "is in the knowledge base now: 1 passage",
    "zh": "已收入知识库：1 段",
    "ja": "をナレッジベースに追加しました：1 箇所",
}
KNOWN = {"en": "already, added by", "zh": "已在知识库中，由", "ja": "すでにナレッジベースにあります"}
CHANGED = {"en": "had changed", "zh": "有变化", "ja": "変更があった"}
each_language = pytest.mark.parametrize("language", PAGES)


@pytest.fixture
async def site(desk: Desk) -> AsyncIterator[Site]:
    async with site_for(desk) as site:
        yield site


async def answer_to(desk: Desk, act: Callable[[], Awaitable[object]]) -> Message:
    """What Ana alone is told when she does something."""
    before = len(desk.ana.ephemerals)
    await act()
    return await desk.next_whisper(desk.ana, before)


async def learnt(desk: Desk, url: str, *, word: str = "learn", by: Person | None = None) -> Message:
    """The answer to `/article learn URL`, beside the sentence that it is being read."""
    person = by or desk.ana
    before = len(person.ephemerals)
    await person.command(desk.channel, "/article", f"{word} {url}")
    await desk.slack.wait_for(lambda: len(person.ephemerals) == before + 2, PATIENCE)
    told = person.ephemerals[before:]
    [answer] = [one for one in told if not one.text.endswith(("…", "……"))]
    return answer


def link_to(message: Message) -> str:
    """As Slack's own client copies it."""
    link = f"https://local.slack.com/archives/{message.channel}/p{message.ts.replace('.', '')}"
    return link if not message.is_reply else f"{link}?thread_ts={message.thread_ts}&cid={message.channel}"


async def newest(desk: Desk) -> Source:
    [source, *_] = await desk.knowledge.documents.sources_of_base(1)
    return source


async def count(desk: Desk) -> int:
    return (await desk.knowledge.documents.count()).documents


@each_language
async def test_a_page_is_learnt_and_found_and_its_origin_is_known(
    desk: Desk, site: Site, language: Language
) -> None:
    await desk.start(worker=False)
    title, text = PAGES[language]
    url = site.put("/salts", title, text)
    answer = await learnt(desk, url, word=LEARN[language])
    assert f"<{url}|{title}>" in answer.text
    assert ADDED[language] in plain_text(answer)
    assert answer.only_for == desk.ana.id
    source = await newest(desk)
    assert (source.title, source.url, source.kind) == (title, url, "web")
    assert source.added_by == desk.ana.id
    assert source.added_from == f"https://local.slack.com/archives/{desk.channel.id}"
    [best, *_] = await desk.knowledge.search.search(text, k=1)
    assert (best.title, best.lang) == (title, language)
    assert desk.slack.history(desk.channel) == []


@each_language
async def test_a_page_that_is_there_already_is_said_so(desk: Desk, site: Site, language: Language) -> None:
    await desk.start(worker=False)
    url = site.put("/salts", *PAGES[language])
    await learnt(desk, url)
    before = await count(desk)
    again = await learnt(desk, f"{url}#top", word=LEARN[language])
    assert KNOWN[language] in plain_text(again)
    assert f"<@{desk.ana.id}>" in again.text
    site.put("/salts", PAGES[language][0], PAGES[language][1] * 2)
    assert CHANGED[language] in plain_text(await learnt(desk, url, word=LEARN[language]))
    assert await count(desk) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("learn http://127.0.0.2/", "COPYDESK_FETCH_PRIVATE"),
        ("learn http://169.254.169.254/latest/meta-data/", "private network"),
        ("learn http://[::1]:5432/", "private network"),
        ("learn https://ana:secret@example.com/", "password in the address"),
        ("learn {site}/nowhere", "404"),
        ("learn {site}/broken", "500"),
        ("learn {site}/empty", "no text"),
    ],
)
async def test_a_page_that_cannot_be_read_is_answered_with_the_reason(
    desk: Desk, site: Site, text: str, words: str
) -> None:
    site.pages |= {"/broken": 500, "/empty": "<html><body></body></html>"}
    await desk.start(worker=False)
    before = await count(desk)
    said = plain_text(await learnt(desk, text.removeprefix("learn ").format(site=site.url)))
    assert "was not added:" in said
    assert words in said
    assert await count(desk) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("learn ftp://example.com/x", "not ftp://"),
        ("learn file:///etc/passwd", "not file://"),
        ("learn www.example.com", "https://www.example.com"),
        ("学习 example.com/guide", "https://example.com/guide"),
        ("学習", "/article learn https://example.com/guide"),
        ("forget", "/article forget 12"),
    ],
)
async def test_what_is_nearly_a_command_is_answered_at_once_with_how_to_say_it(
    desk: Desk, text: str, words: str
) -> None:
    await desk.start(worker=False)
    answer = await desk.ana.command(desk.channel, "/article", text)
    assert words in answer.text
    assert await desk.knowledge.articles.newest() == []


async def test_what_only_begins_like_it_is_a_topic(desk: Desk) -> None:
    await desk.start(worker=False)
    await desk.request("learn Argon2id from https://example.com/guide")
    [article] = await desk.knowledge.articles.newest()
    assert article.topic == "learn Argon2id from https://example.com/guide"


@each_language
async def test_the_links_of_a_message_are_learnt_and_its_words_are_not(
    desk: Desk, site: Site, language: Language
) -> None:
    reader = desk.slack.add_person("Chen", locale=LOCALES[language])
    desk.slack.invite(desk.channel, reader)
    await desk.start(worker=False)
    title, text = PAGES[language]
    url = site.put("/salts?a=1&b=2".partition("?")[0], title, text)
    message = await desk.bo.say(desk.channel, f"See {url}?a=1&b=2 and https://local.slack.com/archives/C1/p1")
    assert await reader.shortcut(message, SHORTCUT)
    answer = await desk.next_whisper(reader, 0)
    assert ADDED[language] in plain_text(answer)
    assert len(plain_text(answer).splitlines()) == 1
    source = await newest(desk)
    assert (source.title, source.url) == (title, f"{url}?a=1&b=2")
    assert source.added_by == reader.id
    assert source.added_from == link_to(message)
    assert site.asked == ["/salts"]


@each_language
async def test_a_message_without_links_and_files_is_a_document_itself(desk: Desk, language: Language) -> None:
    first = {
        "en": "We use 19 MiB for Argon2id.",
        "zh": "我们的 Argon2id 使用 19 MiB。",
        "ja": "Argon2id には 19 MiB を使います。",
    }
    rest = {"en": "Logins take 40 ms.", "zh": "登录需要 40 毫秒。", "ja": "ログインは 40 ミリ秒です。"}
    await desk.start(worker=False)
    parent = await desk.bo.say(desk.channel, "How much memory?")
    message = await desk.bo.say(
        desk.channel, f"*{first[language]}*\n{rest[language]} {desk.ana.mention}", thread_ts=parent.ts
    )
    answer = await answer_to(desk, lambda: desk.ana.shortcut(message, SHORTCUT))
    assert first[language] in plain_text(answer)
    source = await newest(desk)
    link = link_to(message)
    assert (source.title, source.url, source.origin) == (first[language], link, link)
    assert (source.added_by, source.lang) == (desk.ana.id, language)
    [best, *_] = await desk.knowledge.search.search(rest[language], k=1)
    assert best.text.startswith("Bo (20")
    assert "@Ana" in best.text
    assert "already" in plain_text(await answer_to(desk, lambda: desk.ana.shortcut(message, SHORTCUT)))


async def test_links_and_files_of_one_message_are_told_one_by_one(desk: Desk, site: Site) -> None:
    await desk.start(worker=False)
    url = site.put("/salts", *PAGES["en"])
    files: dict[str, bytes | str] = {
        "notes.md": "# 备注\n\n胡椒是服务器上的密钥。".encode(),
        "broken.pdf": b"%PDF-1.7\nnothing",
        "plan": "https://docs.example.com/plan",
    }
    message = await desk.bo.share_files(desk.channel, files, text=f"{url} {site.url}/nowhere")
    answer = plain_text(await answer_to(desk, lambda: desk.ana.shortcut(message, SHORTCUT))).splitlines()
    assert [("not added" in line) for line in answer] == [False, True, False, True, True]
    assert "Salts" in answer[0]
    assert "404" in answer[1]
    assert "备注" in answer[2]
    assert "broken.pdf" in answer[3]
    assert "outside Slack" in answer[4]


async def test_of_very_many_links_the_first_are_read_and_the_rest_named(desk: Desk, site: Site) -> None:
    await desk.start(worker=False)
    urls = [site.put(f"/{at}", f"Page {at}", f"What stands on page {at} about hashes.") for at in range(13)]
    message = await desk.bo.say(desk.channel, " ".join(urls))
    answer = plain_text(await answer_to(desk, lambda: desk.ana.shortcut(message, SHORTCUT))).splitlines()
    assert len(answer) == 11
    assert answer[-1].startswith("3 more links and files")
    assert len(site.asked) == 10


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"error": "file_deleted"}, "deleted"),
        ({"error": "missing_scope"}, "files:read"),
        ({"error": "not_visible"}, "/invite @Copydesk"),
    ],
)
async def test_a_file_that_slack_does_not_give_is_answered_with_what_to_do(
    desk: Desk, fault: dict[str, str], words: str
) -> None:
    await desk.start(worker=False)
    message = await desk.bo.share_file(desk.channel, "notes.md", b"# Pepper\n\nA key on the server.")
    desk.slack.fail("files.info", **fault)  # type: ignore[arg-type]  # mypy takes ** for any argument
    answer = plain_text(await answer_to(desk, lambda: desk.ana.shortcut(message, SHORTCUT)))
    assert "notes.md was not added" in answer
    assert words in answer


async def test_where_the_bot_is_not_a_file_is_not_seen_and_a_page_is(desk: Desk, site: Site) -> None:
    await desk.start(worker=False)
    private = desk.slack.add_channel("secret", [desk.ana], private=True)
    file = await desk.ana.share_file(private, "notes.md", b"# Pepper\n\nA key on the server.")
    answer = await answer_to(desk, lambda: desk.ana.shortcut(file, SHORTCUT))
    assert "/invite @Copydesk" in plain_text(answer)
    assert answer.channel == private.id
    link = await desk.ana.say(private, site.put("/salts", *PAGES["ja"]))
    assert "ソルト" in plain_text(await answer_to(desk, lambda: desk.ana.shortcut(link, SHORTCUT)))


async def test_a_file_of_more_than_20_mb_is_not_even_fetched(desk: Desk) -> None:
    await desk.start(worker=False)
    message = await desk.bo.share_file(desk.channel, "big.txt", b"x" * 20_000_001)
    answer = plain_text(await answer_to(desk, lambda: desk.ana.shortcut(message, SHORTCUT)))
    assert "it has 21 MB, and 20 MB is the most" in answer


async def test_a_download_that_breaks_off_is_tried_again(desk: Desk) -> None:
    await desk.start(worker=False)
    message = await desk.bo.share_file(desk.channel, "notes.md", b"# Pepper\n\nA key on the server.")
    desk.slack.fail("download", drop="after")
    answer = plain_text(await answer_to(desk, lambda: desk.ana.shortcut(message, SHORTCUT)))
    assert "is in the knowledge base now" in answer
    assert len(desk.slack.calls_of("files.info")) == 2


async def test_guests_and_strangers_add_nothing(desk: Desk, site: Site) -> None:
    guest = desk.slack.add_person("Gus", is_restricted=True, locale="ja-JP")
    stranger = desk.slack.add_person("Sam", team="T0OTHER0001", is_stranger=True)
    desk.slack.invite(desk.channel, guest)
    desk.slack.invite(desk.channel, stranger)
    await desk.start(worker=False)
    before = await count(desk)
    url = site.put("/salts", *PAGES["en"])
    assert "ゲスト" in plain_text(await learnt(desk, url, by=guest))
    message = await desk.bo.say(desk.channel, url)
    await stranger.shortcut(message, SHORTCUT)
    assert "Guests" in plain_text(await desk.next_whisper(stranger, 0))
    assert (await count(desk), site.asked) == (before, [])


async def test_the_bots_own_words_and_empty_ones_are_no_source(desk: Desk) -> None:
    await desk.start(worker=False)
    before = await count(desk)
    own = await desk.request("Why salts?")
    assert "message of mine" in plain_text(await answer_to(desk, lambda: desk.ana.shortcut(own, SHORTCUT)))
    empty = await desk.bo.say(desk.channel, "👍 !")
    assert "nothing to read" in plain_text(await answer_to(desk, lambda: desk.ana.shortcut(empty, SHORTCUT)))
    assert await count(desk) == before


async def test_what_was_acknowledged_is_learnt_by_the_next_bot(desk: Desk, site: Site) -> None:
    desk.stack.callback(desk.slack.ack_failures.clear)  # of a bot that is gone
    stop = await desk.start(worker=False)
    url = site.put("/salts", *PAGES["zh"])
    desk.slack.fail("users.info", times=1, drop="never")
    answer = await desk.ana.command(desk.channel, "/article", f"learn {url}")
    assert answer.acked
    await desk.slack.wait_for(lambda: desk.slack.calls_of("users.info"), PATIENCE)
    await stop()
    assert site.asked == []
    # As if the time had passed after which its bot is taken to be dead.
    await desk.knowledge.pool.execute("update arrivals set due_at = now()")
    await desk.start(worker=False)
    await desk.told(desk.ana, "密码盐")
    assert (await newest(desk)).title == "密码盐"
    await desk.until("select count(*) from arrivals", 0)


async def test_a_slow_page_is_fetched_by_one_bot_and_keeps_no_word_waiting(desk: Desk, site: Site) -> None:
    await desk.start()
    parent = await desk.request("Why salts?")
    await desk.asked(parent, "outline 1")
    gate = asyncio.Event()
    site.gate = gate
    url = site.put("/salts", *PAGES["en"])
    for _ in range(6):
        await desk.bo.command(desk.channel, "/article", f"learn {url}")
    await desk.slack.wait_for(lambda: len(site.asked) == 4, PATIENCE)
    await desk.bo.say(desk.channel, "cancel", thread_ts=parent.ts)
    await desk.said(parent, "Cancelled by")
    gate.set()
    await desk.until("select count(*) from arrivals", 0)
    assert len(site.asked) == 6


async def test_what_takes_long_is_not_taken_by_another_bot(
    desk: Desk, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "TAKEN_FOR", timedelta(seconds=1.5))
    monkeypatch.setattr(arrivals, "TAKEN_FOR", timedelta(seconds=1.5))
    monkeypatch.setattr(arrivals, "LOOK_EVERY_SECONDS", 0.1)
    for _ in range(2):
        await desk.start(worker=False)
    site.gate = asyncio.Event()
    await desk.ana.command(desk.channel, "/article", f"learn {site.put('/salts', *PAGES['ja'])}")
    # It is held for longer than a bot that is dead would hold it.
    await desk.until("select count(*) from arrivals where due_at > arrived_at + interval '5 seconds'", 1)
    assert await desk.knowledge.pool.fetchval("select attempts from arrivals") == 0
    site.gate.set()
    await desk.told(desk.ana, "is in the knowledge base now")
    await desk.until("select count(*) from arrivals", 0)
    assert site.asked == ["/salts"]
