"""What people say and click in a thread, and what becomes of it."""

import asyncio

import pytest

from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge.article import Article, Status
from knowledge.language import Language
from tests.e2e.desk import PATIENCE, TOPICS, Desk

TOPIC = TOPICS["en"]


async def at_outline(desk: Desk) -> tuple[Message, Message]:
    """A thread that asks about outline 1: its parent, and the outline."""
    await desk.start()
    parent = await desk.request(TOPIC)
    return parent, await desk.asked(parent, "Approve outline 1")


async def at_draft(desk: Desk) -> tuple[Message, Message]:
    parent, outline = await at_outline(desk)
    await desk.ana.click(outline, "approve")
    return parent, await desk.asked(parent, "Approve draft 1")


async def said_and_heard(desk: Desk, parent: Message) -> Article:
    """Nothing more can come of what was said before: a later question has been answered."""
    number = len(desk.bo.ephemerals)
    await desk.bo.say(desk.channel, "status", thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: len(desk.bo.ephemerals) > number, PATIENCE)
    return await desk.article(parent)


async def test_talk_changes_nothing_and_is_left_alone(desk: Desk) -> None:
    parent, _ = await at_outline(desk)
    before = len(desk.bots(parent))
    for talk in (
        "don't approve this yet",
        "Add a note on bcrypt",
        "I think we can approve it tomorrow",
        "我觉得第二节不错",
        "これはいいと思う",
        "🎉 nice topic for the newsletter",
    ):
        await desk.ana.say(desk.channel, talk, thread_ts=parent.ts)
    article = await said_and_heard(desk, parent)
    assert (article.status, article.decisions) == (Status.AWAITING_OUTLINE, ())
    assert len(desk.bots(parent)) == before
    assert desk.ana.ephemerals == []


async def test_near_misses_are_answered_to_that_person_alone(desk: Desk) -> None:
    parent, _ = await at_outline(desk)
    before = len(desk.bots(parent))
    for miss in ("approve?", "revise the intro", "lgtm", "通过？", "承認？"):
        number = len(desk.ana.ephemerals)
        await desk.ana.say(desk.channel, miss, thread_ts=parent.ts)
        answer = await desk.next_whisper(desk.ana, number)
        assert answer.thread_ts == parent.ts
    article = await said_and_heard(desk, parent)
    assert (article.status, article.decisions) == (Status.AWAITING_OUTLINE, ())
    assert len(desk.bots(parent)) == before


async def test_a_second_delivery_of_the_same_event_does_nothing(desk: Desk) -> None:
    parent, _ = await at_outline(desk)
    said = await desk.ana.say(desk.channel, "revise: drop section 1", thread_ts=parent.ts)
    await desk.asked(parent, "Approve outline 2")
    for event in desk.slack.events_about(said):
        assert await desk.slack.redeliver(event)
    article = await said_and_heard(desk, parent)
    assert (article.outline_version, len(article.decisions)) == (2, 1)


async def test_a_mention_that_comes_as_two_events_counts_once(desk: Desk) -> None:
    parent, _ = await at_outline(desk)
    said = await desk.ana.say(
        desk.channel, f"<@{desk.slack.bot.id}> revise: drop section 1", thread_ts=parent.ts
    )
    assert len(desk.slack.events_about(said)) == 2
    await desk.asked(parent, "Approve outline 2")
    article = await said_and_heard(desk, parent)
    assert (article.outline_version, len(article.decisions)) == (2, 1)


async def test_an_approve_for_an_older_version_is_answered_not_executed(desk: Desk) -> None:
    parent, outline = await at_outline(desk)
    await desk.ana.say(desk.channel, "revise: drop section 1", thread_ts=parent.ts)
    await desk.asked(parent, "Approve outline 2")
    await desk.bo.click(outline, "approve", stale=True)
    answer = await desk.told(desk.bo, "outline 1")
    assert "outline 2" in plain_text(answer)
    assert "/archives/" in plain_text(answer)  # a link to the current one
    article = await desk.article(parent)
    assert (article.status, article.approved_by) == (Status.AWAITING_OUTLINE, None)


async def test_a_request_made_of_an_older_version_is_carried_out_on_the_current_one(desk: Desk) -> None:
    parent, outline = await at_outline(desk)
    await desk.ana.click(outline, "request_changes")
    await desk.slack.wait_for(lambda: desk.ana.open_views, PATIENCE)
    await desk.bo.say(desk.channel, "revise: drop section 1", thread_ts=parent.ts)
    await desk.asked(parent, "Approve outline 2")
    await desk.ana.submit(desk.ana.open_views[-1], {"request": "move section 2 to the front"})
    await desk.asked(parent, "Approve outline 3")
    article = await desk.article(parent)
    assert [(one.text, one.version) for one in article.decisions] == [
        ("drop section 1", 1),
        ("move section 2 to the front", 2),
    ]


async def test_a_strangers_approve_is_refused_visibly(desk: Desk) -> None:
    guest = desk.slack.add_person("Guest", is_restricted=True)
    partner = desk.slack.add_person("Partner", team="T0OTHER")
    for person in (guest, partner):
        desk.slack.invite(desk.channel, person)
    parent, outline = await at_outline(desk)
    await guest.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.told(guest, "Guests")
    await partner.click(outline, "approve")
    await desk.told(partner, "Guests")
    assert (await desk.article(parent)).status is Status.AWAITING_OUTLINE


async def test_only_approvers_approve_by_word_or_button_but_all_may_ask_for_changes(desk: Desk) -> None:
    editors = desk.slack.add_usergroup("editors", [desk.bo])
    await desk.start(approvers=editors.id)
    parent = await desk.request(TOPIC)
    outline = await desk.asked(parent, "Approve outline 1")
    await desk.ana.click(outline, "approve")
    await desk.told(desk.ana, "Approving is for")
    await desk.ana.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: len(desk.ana.ephemerals) == 2, PATIENCE)
    await desk.ana.say(desk.channel, "revise: drop section 1", thread_ts=parent.ts)
    second = await desk.asked(parent, "Approve outline 2")
    await desk.bo.click(second, "approve")
    await desk.asked(parent, "Approve draft 1")


async def test_of_two_approvals_at_once_one_counts_and_the_other_is_told(desk: Desk) -> None:
    parent, outline = await at_outline(desk)
    await asyncio.gather(desk.ana.click(outline, "approve"), desk.bo.click(outline, "approve"))
    await desk.slack.wait_for(lambda: desk.ana.ephemerals + desk.bo.ephemerals, PATIENCE)
    await desk.asked(parent, "Approve draft 1")
    article = await desk.article(parent)
    assert len(article.decisions) == 1
    [answer] = desk.ana.ephemerals + desk.bo.ephemerals
    assert f"<@{article.decisions[0].by}> approved" in plain_text(answer)


async def test_the_modal_asks_for_changes_like_a_word(desk: Desk) -> None:
    parent, outline = await at_outline(desk)
    await desk.ana.click(outline, "request_changes")
    await desk.slack.wait_for(lambda: desk.ana.open_views, PATIENCE)
    [view] = desk.ana.open_views
    empty = await desk.ana.submit(view, {"request": "   "})
    assert empty.errors
    done = await desk.ana.submit(view, {"request": "drop section 1"})
    assert (done.errors, desk.ana.open_views) == ({}, [])
    await desk.asked(parent, "Approve outline 2")


async def test_what_is_said_while_agents_work_is_kept_in_order_and_carried_out_as_one(desk: Desk) -> None:
    stop = await desk.start(worker=False)
    parent = await desk.request(TOPIC)
    for request in ("revise: drop section 1", "修改：把第2节移到最前面"):
        await desk.ana.say(desk.channel, request, thread_ts=parent.ts)
        await desk.said(parent, request.split(":")[-1].split("：")[-1].strip())
    await desk.ana.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.told(desk.ana, "I will ask you here")
    await stop()
    await desk.start()
    await desk.asked(parent, "Approve outline 1")
    article = await desk.article(parent, Status.AWAITING_OUTLINE)
    assert [(one.text, one.state) for one in article.decisions] == [
        ("drop section 1", "done"),
        ("把第2节移到最前面", "done"),
    ]
    assert article.outline_version == 1  # people were asked once, after both


async def test_a_revise_of_one_section_leaves_the_others_as_they_were(desk: Desk) -> None:
    parent, _ = await at_draft(desk)
    before = await desk.article(parent)
    await desk.ana.say(desk.channel, "revise 2: shorten it", thread_ts=parent.ts)
    second = await desk.asked(parent, "Approve draft 2")
    after = await desk.article(parent)
    assert before.draft is not None
    assert after.draft is not None
    old, new = before.draft["sections"], after.draft["sections"]
    assert [a == b for a, b in zip(old, new, strict=True)] == [number != 1 for number in range(len(old))]
    assert "section 2" in plain_text(second)


async def test_the_review_is_applied_by_its_button(desk: Desk) -> None:
    parent, draft = await at_draft(desk)
    article = await desk.article(parent)
    assert article.review is not None
    if article.review["issues"]:
        await desk.bo.click(draft, "apply_review")
        await desk.asked(parent, "Approve draft 2")
        assert [one.text for one in (await desk.article(parent)).decisions] == ["", ""]


async def test_research_at_the_draft_brings_new_evidence_and_no_second_gate(desk: Desk) -> None:
    parent, _ = await at_draft(desk)
    before = await desk.article(parent)
    await desk.ana.say(desk.channel, "research: bcrypt 72 byte limit", thread_ts=parent.ts)
    await desk.asked(parent, "Approve draft 2")
    after = await desk.article(parent)
    assert (after.outline_version, after.research_rounds) == (before.outline_version, 1)
    assert before.research is not None
    assert after.research is not None
    assert after.research["searches"] > before.research["searches"]
    old = [source["id"] for source in before.research["sources"]]
    assert [source["id"] for source in after.research["sources"]][: len(old)] == old


async def test_cancel_ends_it_at_once_and_later_words_are_answered(desk: Desk) -> None:
    parent, outline = await at_outline(desk)
    await desk.ana.click(outline, "cancel")
    article = await desk.article(parent, Status.CANCELLED)
    await desk.ana.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.told(desk.ana, "was cancelled")
    assert (await desk.article(parent)).moves == article.moves


async def test_cancel_by_command_needs_the_requester_or_an_approver(desk: Desk) -> None:
    await desk.start(worker=False, approvers="requester")
    parent = await desk.request(TOPIC)
    article = await desk.article(parent)
    await desk.bo.command(desk.channel, "/article", f"cancel {article.id}")
    await desk.told(desk.bo, "can cancel it")
    await desk.bo.command(desk.channel, "/article", "cancel 4711")
    await desk.told(desk.bo, "4711")
    await desk.ana.command(desk.channel, "/article", f"cancel {article.id}")
    await desk.article(parent, Status.CANCELLED)


async def test_a_published_article_is_opened_again_by_revise(desk: Desk) -> None:
    parent, draft = await at_draft(desk)
    await desk.ana.click(draft, "approve")
    await desk.article(parent, Status.PUBLISHED)
    await desk.bo.say(desk.channel, "revise: drop section 1", thread_ts=parent.ts)
    second = await desk.asked(parent, "Approve draft 2")
    await desk.bo.click(second, "approve")
    article = await desk.article(parent, Status.PUBLISHED)
    assert (article.version, article.approved_by) == (2, desk.bo.id)


async def test_a_thread_that_waits_survives_a_restart(desk: Desk) -> None:
    stop = await desk.start()
    parent = await desk.request(TOPIC)
    outline = await desk.asked(parent, "Approve outline 1")
    await stop()
    await desk.start()
    await desk.ana.click(outline, "approve")
    await desk.asked(parent, "Approve draft 1")


async def test_list_and_status_show_articles_with_links(desk: Desk) -> None:
    parent, _ = await at_outline(desk)
    for number, which in enumerate(("list", "status")):
        await desk.bo.command(desk.channel, "/article", which)
        text = plain_text(await desk.next_whisper(desk.bo, number))
        assert TOPIC in text
        assert parent.ts.replace(".", "") in text
    answer = await desk.bo.command(desk.channel, "/article", "help")
    assert "/article TOPIC" in answer.text


@pytest.mark.parametrize(
    ("language", "in_list", "in_status", "cancel", "unknown", "none"),
    [
        ("en", "list", "status", "cancel", "There is no article #1", "There is no article to show"),
        ("zh", "列表", "状态", "取消", "没有文章 #1", "没有可显示的文章"),
        ("ja", "一覧", "状態", "キャンセル", "記事 #1 はありません", "表示する記事はありません"),
    ],
)
async def test_an_article_in_direct_messages_is_there_for_its_requester_alone(
    desk: Desk, language: Language, in_list: str, in_status: str, cancel: str, unknown: str, none: str
) -> None:
    topic = TOPICS[language]
    await desk.start(worker=False)
    await desk.request(topic)
    await desk.knowledge.pool.execute("update articles set channel_id = 'D0ANA'")
    for number, which in enumerate((in_list, in_status)):
        await desk.bo.command(desk.channel, "/article", which)
        assert none in plain_text(await desk.next_whisper(desk.bo, number))
        await desk.ana.command(desk.channel, "/article", which)
        assert topic in plain_text(await desk.next_whisper(desk.ana, number))
    await desk.bo.command(desk.channel, "/article", f"{cancel} 1")
    assert unknown in plain_text(await desk.next_whisper(desk.bo, 2))
    assert topic in plain_text(await desk.request(topic, by=desk.bo))  # and is not told that there is one
    hidden, own = sorted(await desk.knowledge.articles.newest(), key=lambda article: article.id)
    assert (hidden.status, own.requested_by) == (Status.RESEARCHING, desk.bo.id)


async def test_a_word_that_slack_keeps_from_being_checked_is_carried_out_a_little_later(desk: Desk) -> None:
    parent, _ = await at_outline(desk)
    desk.slack.fail("users.info", error="internal_error")
    await desk.ana.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.asked(parent, "Approve draft 1")
    assert desk.ana.ephemerals == []


async def test_an_edit_that_slack_refuses_does_not_stop_the_article(desk: Desk) -> None:
    parent, outline = await at_outline(desk)
    desk.slack.fail("chat.update", times=20, error="message_not_found")
    await desk.ana.click(outline, "approve")
    await desk.asked(parent, "Approve draft 1")


async def test_applying_the_review_twice_is_once(desk: Desk) -> None:
    parent, draft = await at_draft(desk)
    await asyncio.gather(*(desk.ana.click(draft, "apply_review", stale=True) for _ in range(3)))
    await desk.asked(parent, "Approve draft 2")
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert (article.version, [one.action for one in article.decisions]) == (2, ["approve", "revise"])


async def test_cancel_typed_in_another_channel_is_answered_there(desk: Desk) -> None:
    other = desk.slack.add_channel("elsewhere", [desk.ana, desk.bo])
    await desk.start(worker=False, approvers="requester")
    parent = await desk.request(TOPIC)
    article = await desk.article(parent)
    await desk.bo.command(other, "/article", f"cancel {article.id}")
    await desk.told(desk.bo, "can cancel it")
    await desk.ana.command(other, "/article", f"cancel {article.id}")
    await desk.told(desk.ana, "Cancelled")
    await desk.article(parent, Status.CANCELLED)


async def test_a_group_of_approvers_that_was_deleted_has_no_members(desk: Desk) -> None:
    await desk.start(approvers="S0DELETED01")
    parent = await desk.request(TOPIC)
    outline = await desk.asked(parent, "Approve outline 1")
    await desk.ana.click(outline, "approve")
    await desk.told(desk.ana, "Approving is for")


async def test_the_first_command_is_acknowledged_while_slack_is_slow(desk: Desk) -> None:
    await desk.start(worker=False)
    desk.slack.fail("auth.test", times=5, delay=4)
    answer = await desk.ana.command(desk.channel, "/article", "help")
    assert answer.acked


async def test_a_draft_without_a_section_says_so_and_keeps_nothing_of_its_source(desk: Desk) -> None:
    parent, _ = await at_draft(desk)
    await desk.ana.say(desk.channel, "revise: drop section 1", thread_ts=parent.ts)
    second = plain_text(await desk.asked(parent, "Approve draft 2"))
    assert "Sections were dropped" in second
    assert "the same as in draft 1" not in second


async def test_a_near_miss_that_comes_twice_is_answered_once(desk: Desk) -> None:
    parent, _ = await at_outline(desk)
    miss = await desk.ana.say(desk.channel, f"<@{desk.slack.bot.id}> approve?", thread_ts=parent.ts)
    await desk.told(desk.ana, "as a question")
    for event in desk.slack.events_about(miss):
        await desk.slack.redeliver(event)
    await said_and_heard(desk, parent)
    assert len(desk.ana.ephemerals) == 1
