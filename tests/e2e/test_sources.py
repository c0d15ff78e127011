"""`/article sources` and `/article forget`: who added what from where, and who may take it out again."""

from dataclasses import replace

import pytest

from bot.local_slack.people import Person
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge.language import Language
from knowledge.sources import Provenance
from tests.e2e.desk import PATIENCE, TOPICS, Desk

SOURCES = {"en": "sources", "zh": "来源", "ja": "出典"}
FORGET = {"en": "forget", "zh": "移除", "ja": "削除"}
HEADINGS = {
    "en": "The newest sources of the knowledge base:",
    "zh": "知识库里最新的来源：",
    "ja": "ナレッジベースの新しい資料：",
}
TITLES = {"en": "Pepper", "zh": "胡椒", "ja": "ペッパー"}
TEXTS = {
    "en": "A pepper is a key on the server that no dump of the table shows.",
    "zh": "胡椒是只保存在服务器上的密钥，泄露的表里看不到它。",
    "ja": "ペッパーはサーバーだけが持つ鍵で、流出した表からは分からない。",
}
REMOVED = {"en": "is removed by", "zh": "移除，不会再", "ja": "さんが削除しました"}
UNKNOWN = {"en": "There is no source #{}", "zh": "没有来源 #{}", "ja": "資料 #{} はありません"}
YES = {"en": "Remove", "zh": "移除", "ja": "削除"}
NO = {"en": "Keep it", "zh": "保留", "ja": "残す"}
each_language = pytest.mark.parametrize("language", SOURCES)


async def add(
    desk: Desk, language: Language = "en", *, by: str | None = None, article_id: int | None = None
) -> int:
    """A document of the base, or of an article, that somebody added from a message."""
    link = None if by is None else "https://local.slack.com/archives/C1/p1796059410000200"
    added = await desk.knowledge.documents.add_file(
        "notes.md",
        f"# {TITLES[language]}\n\n{TEXTS[language]}\n".encode(),
        origin=f"slack://file/{language}",
        url=f"https://local.slack.com/files/{language}",
        provenance=Provenance(added_by=by, added_from=link, article_id=article_id),
    )
    return added.document_id


async def move_to_bos_messages(desk: Desk) -> None:
    """The article is one that Bo has asked for in direct messages."""
    await desk.knowledge.pool.execute(
        "update articles set channel_id = 'D0BO', requested_by = $1", desk.bo.id
    )


async def asked(desk: Desk, text: str) -> Message:
    before = len(desk.ana.ephemerals)
    await desk.ana.command(desk.channel, "/article", text)
    return await desk.next_whisper(desk.ana, before)


@each_language
async def test_the_newest_sources_are_listed_with_who_added_them_from_where(
    desk: Desk, language: Language
) -> None:
    await desk.start(worker=False)
    document_id = await add(desk, language, by=desk.bo.id)
    answer = await asked(desk, SOURCES[language])
    heading, newest, *others = plain_text(answer).splitlines()
    assert heading == HEADINGS[language]
    assert newest.startswith(f"#{document_id} · {TITLES[language]}")
    assert desk.bo.mention in newest
    [block] = [block for block in answer.blocks if f"#{document_id} " in block["text"]["text"]]
    assert "<https://local.slack.com/archives/C1/p1796059410000200|" in block["text"]["text"]
    assert block["accessory"]["confirm"]["title"]["text"]
    assert len(others) == 10  # nine from the command line, and that there are older ones


async def test_an_empty_base_says_how_to_fill_it(desk: Desk) -> None:
    await desk.knowledge.pool.execute("delete from documents")
    await desk.start(worker=False)
    assert "/article learn https://…" in plain_text(await asked(desk, "sources"))


@each_language
async def test_an_articles_sources_are_those_it_cites_then_its_own(desk: Desk, language: Language) -> None:
    await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.slack.wait_for(lambda: desk.bots(parent), PATIENCE)
    await desk.bo.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.until("select version from articles", 1)
    document_id = await add(desk, language, by=desk.bo.id, article_id=1)
    article = await desk.article(parent)
    assert article.draft is not None
    lines = plain_text(await asked(desk, f"{SOURCES[language]} 1")).splitlines()
    cited = article.draft["used_source_ids"]
    assert [f"[{source_id}]" in line for source_id, line in zip(cited, lines[1:], strict=False)] == [
        True
    ] * len(cited)
    assert sum("[S" in line for line in lines) == len(cited)
    assert any(line.startswith(f"#{document_id} · {TITLES[language]}") for line in lines[1 + len(cited) :])
    assert TITLES[language] not in plain_text(await asked(desk, SOURCES[language]))


@each_language
async def test_sources_of_an_article_in_direct_messages_are_there_for_its_requester_alone(
    desk: Desk, language: Language
) -> None:
    await desk.start(worker=False)
    await desk.request(TOPICS[language])
    await add(desk, language, by=desk.bo.id, article_id=1)
    assert TITLES[language] in plain_text(await asked(desk, f"{SOURCES[language]} 1"))
    await move_to_bos_messages(desk)
    hidden = plain_text(await asked(desk, f"{SOURCES[language]} 1"))
    assert "#1" in hidden
    assert TITLES[language] not in hidden
    assert TOPICS[language] not in hidden
    before = len(desk.bo.ephemerals)
    await desk.bo.command(desk.channel, "/article", f"{SOURCES[language]} 1")
    assert TITLES[language] in plain_text(await desk.next_whisper(desk.bo, before))


@each_language
async def test_a_source_of_an_article_in_direct_messages_keeps_its_title_from_others_also_once_removed(
    desk: Desk, language: Language
) -> None:
    async def asks(person: Person, document_id: int) -> Message:
        before = len(person.ephemerals)
        await person.command(desk.channel, "/article", f"{FORGET[language]} {document_id}")
        return await desk.next_whisper(person, before)

    await desk.start(worker=False)
    parent = await desk.request(TOPICS[language])
    content = f"# {TITLES[language]}\n\n{TEXTS[language]}\n".encode()
    await desk.ana.share_file(desk.channel, "a.md", content, thread_ts=parent.ts)
    await desk.said(parent, TITLES[language])
    [source] = await desk.knowledge.documents.sources_of_article(1)
    assert TITLES[language] in plain_text(await asks(desk.bo, source.document_id))
    await desk.knowledge.pool.execute("update articles set channel_id = 'D0ANA'")
    unknown = UNKNOWN[language].format(source.document_id)
    assert unknown in plain_text(await asks(desk.bo, source.document_id))
    await desk.bo.click(desk.bo.ephemerals[0], YES[language], stale=True)
    assert unknown in plain_text(await desk.next_whisper(desk.bo, 2))
    question = await asks(desk.ana, source.document_id)
    await desk.ana.click(question, YES[language])
    await desk.told(desk.ana, REMOVED[language])
    assert unknown in plain_text(await asks(desk.bo, source.document_id))
    assert REMOVED[language] in plain_text(await asks(desk.ana, source.document_id))


@each_language
async def test_a_source_of_the_base_that_was_shared_in_direct_messages_too_is_said_to_be_removed(
    desk: Desk, language: Language
) -> None:
    await desk.start(worker=False)
    parent = await desk.request(TOPICS[language])
    document_id = await add(desk, language, by=desk.bo.id)
    content = f"# {TITLES[language]}\n\n{TEXTS[language]}\n".encode()
    await desk.ana.share_file(desk.channel, "a.md", content, thread_ts=parent.ts)
    await desk.said(parent, TITLES[language])
    await move_to_bos_messages(desk)
    await desk.knowledge.documents.remove(document_id, by=desk.bo.id, from_where=None)
    assert REMOVED[language] in plain_text(await asked(desk, f"{FORGET[language]} {document_id}"))


@each_language
async def test_a_page_that_research_in_direct_messages_has_read_keeps_its_title_also_once_removed(
    desk: Desk, language: Language
) -> None:
    await desk.start(worker=False)
    await desk.request(TOPICS[language])
    document_id = await add(desk, language, article_id=1)  # no thread was told of it
    await move_to_bos_messages(desk)
    await desk.knowledge.documents.remove(document_id, by=desk.bo.id, from_where=None)
    hidden = plain_text(await asked(desk, f"{FORGET[language]} {document_id}"))
    assert UNKNOWN[language].format(document_id) in hidden
    assert TITLES[language] not in hidden


async def test_an_article_that_is_not_there_and_one_without_sources_are_said_so(desk: Desk) -> None:
    await desk.start(worker=False)
    assert "no article #7" in plain_text(await asked(desk, "sources 7"))
    await desk.request(TOPICS["en"])
    assert "#1 has no source yet" in plain_text(await asked(desk, "sources #1"))


@each_language
async def test_to_forget_a_source_asks_once_more_and_is_written_down(desk: Desk, language: Language) -> None:
    await desk.start(worker=False)
    document_id = await add(desk, language, by=desk.bo.id)
    question = await asked(desk, f"{FORGET[language]} {document_id}")
    assert TITLES[language] in plain_text(question)
    assert await desk.knowledge.documents.of(document_id) is not None
    await desk.ana.click(question, YES[language])
    told = await desk.told(desk.ana, REMOVED[language])
    assert TITLES[language] in plain_text(told)
    assert TITLES[language] not in [one.title for one in await desk.knowledge.search.search(TEXTS[language])]
    [removal] = await desk.knowledge.pool.fetch("select * from removals")
    assert (removal["document_id"], removal["added_by"], removal["removed_by"]) == (
        *(document_id, desk.bo.id, desk.ana.id),
    )
    assert removal["removed_from"] == f"https://local.slack.com/archives/{desk.channel.id}"
    # Asked again, and clicked again on a screen that shows it still: who did it, and nothing more.
    assert REMOVED[language] in plain_text(await asked(desk, f"{FORGET[language]} {document_id}"))
    before = len(desk.ana.ephemerals)
    await desk.ana.click(question, YES[language])
    assert REMOVED[language] in plain_text(await desk.next_whisper(desk.ana, before))
    assert await desk.knowledge.pool.fetchval("select count(*) from removals") == 1


@each_language
async def test_who_thinks_better_of_it_keeps_it(desk: Desk, language: Language) -> None:
    await desk.start(worker=False)
    document_id = await add(desk, language)
    question = await asked(
        desk, f"forget {document_id}" if language == "en" else f"{FORGET[language]}{document_id}"
    )
    await desk.ana.click(question, NO[language])
    await desk.slack.wait_for(
        lambda: not any(YES[language] + "]" in plain_text(m) for m in desk.ana.ephemerals), PATIENCE
    )
    assert f"#{document_id}" in plain_text(desk.ana.ephemerals[-1])
    assert await desk.knowledge.documents.of(document_id) is not None


async def test_a_button_of_the_list_removes_too(desk: Desk) -> None:
    await desk.start(worker=False)
    document_id = await add(desk, "zh", by=desk.ana.id)
    answer = await asked(desk, "sources")
    [block] = [block for block in answer.blocks if f"#{document_id} " in block["text"]["text"]]
    only = replace(answer, blocks=(block,))
    await desk.ana.click(only, "source_forget", stale=True)
    await desk.told(desk.ana, "is removed by")
    assert await desk.knowledge.documents.of(document_id) is None


@pytest.mark.parametrize(
    ("approvers", "added_by", "may"),
    [
        ("anyone", "bo", True),
        ("anyone", "server", True),
        ("requester", "ana", True),
        ("requester", "bo", False),
        ("requester", "server", False),
        ("{bo}", "ana", True),
        ("{bo}", "bo", False),
        ("{ana}", "server", True),
        ("", "bo", False),
    ],
)
async def test_only_who_may_cancel_or_added_it_removes_a_source(
    desk: Desk, approvers: str, added_by: str, may: bool
) -> None:
    ids = {"ana": desk.ana.id, "bo": desk.bo.id, "server": None}
    await desk.start(worker=False, approvers=approvers.format(ana=desk.ana.id, bo=desk.bo.id))
    document_id = await add(desk, by=ids[added_by])
    answer = plain_text(await asked(desk, f"forget {document_id}"))
    assert ("[Remove]" in answer) == may
    assert ("Only an approver" in answer) != may


async def test_a_click_is_held_to_the_rule_too_and_a_guest_removes_nothing(desk: Desk) -> None:
    await desk.start(approvers="requester")
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, "outline 1")
    await desk.bo.share_file(
        desk.channel, "pepper.md", f"# Pepper\n\n{TEXTS['en']}".encode(), thread_ts=parent.ts
    )
    note = await desk.said(parent, "is a source of this article now")
    guest = desk.slack.add_person("Gus", is_restricted=True)
    other = desk.slack.add_person("Chen")
    for person, words in ((guest, "not decide"), (other, "Only an approver")):
        desk.slack.invite(desk.channel, person)
        await person.click(note, "Remove")
        assert words in plain_text(await desk.next_whisper(person, 0))
    await guest.click(note, "Add to the knowledge base too")
    assert "add nothing" in plain_text(await desk.next_whisper(guest, 1))
    assert len(await desk.knowledge.documents.sources_of_article(1)) == 1
    # Who asked for the article may, although somebody else shared the file.
    await desk.ana.click(note, "Remove")
    await desk.told(desk.ana, "is removed by")
    assert await desk.knowledge.documents.sources_of_article(1) == []


@pytest.mark.parametrize("text", ["forget 4711", "forget 99999999999", "削除 4711", "移除 0"])
async def test_a_source_that_never_was_is_said_so(desk: Desk, text: str) -> None:
    await desk.start(worker=False)
    await desk.ana.command(desk.channel, "/article", text)
    answer = await desk.next_whisper(desk.ana, 0)
    assert f"#{text.split()[1]}" in plain_text(answer)
    assert "/article sources" in plain_text(answer)


async def test_a_removal_whose_bot_died_is_carried_out_and_told_once(desk: Desk) -> None:
    desk.stack.callback(desk.slack.ack_failures.clear)  # of a bot that is gone
    stop = await desk.start(worker=False)
    document_id = await add(desk, "ja", by=desk.ana.id)
    question = await asked(desk, f"forget {document_id}")
    desk.slack.fail("users.info", drop="never")
    before = len(desk.slack.calls_of("users.info"))
    await desk.ana.click(question, "Remove")
    await desk.slack.wait_for(lambda: len(desk.slack.calls_of("users.info")) > before, PATIENCE)
    await stop()
    await desk.knowledge.pool.execute("update arrivals set due_at = now()")
    await desk.start(worker=False)
    await desk.told(desk.ana, "is removed by")
    await desk.until("select count(*) from removals", 1)
    await desk.until("select count(*) from arrivals", 0)
