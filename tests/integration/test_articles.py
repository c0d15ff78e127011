"""One transaction for row, decision, job and message; compare-and-set; claims."""

import asyncio
import hashlib
import json
import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from knowledge.article import Action, Article, ArticleError, Mode, Status
from knowledge.articles import Articles
from knowledge.changes import (
    AlreadyHeard,
    Change,
    IllegalMove,
    Moved,
    NewArticle,
    NewDecision,
    NewVersion,
    Outgoing,
)
from knowledge.database import Pool
from knowledge.leg_jobs import free_ended_legs
from knowledge.outbox import Outbox

NEW = NewArticle(
    topic="Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    language="zh",
    mode=Mode.SUPERVISED,
    team_id="T1",
    channel_id="C1",
    requested_by="U1",
)


def first(article: Article) -> list[Outgoing]:
    return [Outgoing(f"article:{article.id}:status", {"kind": "status", "topic": article.topic})]


async def jobs(pool: Pool) -> list[tuple[str, dict[str, Any], str]]:
    rows = await pool.fetch("select status::text, args, lock from procrastinate_jobs order by id")
    return [(row["status"], row["args"], row["lock"]) for row in rows]


async def at_outline(articles: Articles) -> Article:
    article = await articles.add(NEW, first_messages=first)
    article = await articles.save(article, Change(replace(article, status=Status.OUTLINING), why="found"))
    shown = replace(article, status=Status.AWAITING_OUTLINE, outline_version=1)
    return await articles.save(
        article,
        Change(shown, why="ready", messages=[Outgoing("gate", {"kind": "outline"}, on="outline", version=1)]),
    )


async def test_a_new_article_has_its_job_its_message_and_its_history(pool: Pool) -> None:
    articles = Articles(pool)
    article = await articles.add(NEW, first_messages=first, claims=["command:1"])
    assert (article.status, article.moves, article.topic) == (Status.RESEARCHING, 1, NEW.topic)
    assert await jobs(pool) == [("todo", {"article_id": article.id, "moves": 1}, f"article:{article.id}")]
    assert [head.message["topic"] for head in await Outbox(pool).heads()] == [NEW.topic]
    assert [move["to"] for move in await articles.history(article.id)] == ["researching"]


async def test_the_same_command_twice_makes_one_article(pool: Pool) -> None:
    articles = Articles(pool)
    await articles.add(NEW, first_messages=first, claims=["command:1"])
    with pytest.raises(AlreadyHeard):
        await articles.add(NEW, first_messages=first, claims=["command:1"])
    assert len(await articles.newest()) == 1
    assert len(await jobs(pool)) == 1


async def test_of_twenty_moves_at_once_one_wins_and_the_others_write_nothing(pool: Pool) -> None:
    articles = Articles(pool)
    article = await at_outline(articles)

    async def approve(number: int) -> bool:
        decision = NewDecision("outline", Action.APPROVE, "", None, f"U{number}", 1)
        change = Change(
            replace(article, status=Status.WRITING),
            why="approve",
            decision=decision,
            messages=[Outgoing(f"note:{number}", {"kind": "note"})],
            claims=[f"event:{number}"],
        )
        try:
            await articles.save(article, change)
        except Moved:
            return False
        return True

    assert sum(await asyncio.gather(*(approve(number) for number in range(20)))) == 1
    now = await articles.get(article.id)
    assert now is not None
    assert (now.status, len(now.decisions)) == (Status.WRITING, 1)
    writing = [args for _, args, _ in await jobs(pool) if args["moves"] == now.moves]
    assert len(writing) == 1
    assert await pool.fetchval("select count(*) from outbox where key like 'note:%'") == 1
    assert await pool.fetchval("select count(*) from inbox") == 1


async def test_a_move_that_cannot_be_written_leaves_nothing_behind(pool: Pool) -> None:
    articles = Articles(pool)
    article = await at_outline(articles)
    before = await jobs(pool)
    version = NewVersion(1, {}, "text", 1)
    await pool.execute(
        "insert into article_versions (article_id, number, draft, markdown, sha256, words)"
        " values ($1, 1, '{}', '', '', 0)",
        article.id,
    )
    with pytest.raises(Exception, match="article_versions_pkey"):
        await articles.save(
            article,
            Change(
                replace(article, status=Status.WRITING),
                why="approve",
                version=version,
                claims=["event:1"],
                messages=[Outgoing("note", {"kind": "note"})],
            ),
        )
    assert await articles.get(article.id) == article
    assert await jobs(pool) == before
    assert await pool.fetchval("select count(*) from inbox") == 0
    assert await articles.message("note") is None


async def test_a_leg_that_ends_while_somebody_speaks_notices_it(pool: Pool) -> None:
    articles = Articles(pool)
    article = await at_outline(articles)
    article = await articles.save(article, Change(replace(article, status=Status.WRITING), why="approve"))
    request = NewDecision("draft", Action.REVISE, "もっと短く", 2, "U1", 1, kept=True)
    heard = await articles.save(article, Change(article, why="kept", decision=request))
    assert (heard.moves, heard.heard) == (article.moves, article.heard + 1)
    with pytest.raises(Moved):
        await articles.save(article, Change(replace(article, status=Status.REVIEWING), why="written"))
    moved = await articles.save(heard, Change(replace(heard, status=Status.REVIEWING), why="written"))
    assert [decision.text for decision in moved.waiting] == ["もっと短く"]


async def test_kept_requests_are_taken_and_then_done_with_what_became_of_them(pool: Pool) -> None:
    articles = Articles(pool)
    article = await at_outline(articles)
    article = await articles.save(article, Change(replace(article, status=Status.WRITING), why="approve"))
    for text in ("缩短引言", "add a table"):
        request = NewDecision("draft", Action.REVISE, text, None, "U1", 1, kept=True)
        article = await articles.save(article, Change(article, why="kept", decision=request))
    article = await articles.save(article, Change(replace(article, status=Status.REVIEWING), why="written"))
    article = await articles.save(
        article, Change(replace(article, status=Status.REVISING), why="kept", take=True)
    )
    assert [decision.text for decision in article.taken] == ["缩短引言", "add a table"]
    article = await articles.save(
        article, Change(replace(article, status=Status.REVIEWING), why="revised", outcome="已缩短。")
    )
    assert [(decision.state, decision.outcome) for decision in article.decisions] == [
        ("done", "已缩短。")
    ] * 2


async def test_a_cancelled_article_takes_its_job_along(pool: Pool) -> None:
    articles = Articles(pool)
    article = await articles.add(NEW, first_messages=first)
    await articles.save(article, Change(replace(article, status=Status.CANCELLED), why="cancel"))
    assert [status for status, _, _ in await jobs(pool)] == ["cancelled"]


async def test_a_failed_article_goes_back_only_to_the_leg_it_failed_in(pool: Pool) -> None:
    articles = Articles(pool)
    article = await articles.add(NEW, first_messages=first)
    error = ArticleError(Status.RESEARCHING, "nothing_found", "知识库里没有相关内容。")
    article = await articles.save(
        article, Change(replace(article, status=Status.FAILED, error=error), why="nothing_found")
    )
    assert article.error == error
    with pytest.raises(IllegalMove):
        await articles.save(article, Change(replace(article, status=Status.WRITING, error=None), why="retry"))
    retried = await articles.save(
        article, Change(replace(article, status=Status.RESEARCHING, error=None), why="retry")
    )
    assert retried.error is None
    assert (await jobs(pool))[-1][1] == {"article_id": article.id, "moves": retried.moves}


async def test_retry_sends_again_what_slack_had_refused(pool: Pool) -> None:
    articles, outbox = Articles(pool), Outbox(pool)
    article = await articles.add(NEW, first_messages=first)
    [head] = await outbox.heads()
    await outbox.give_up(head, "channel_not_found")
    assert await outbox.heads() == []
    error = ArticleError(Status.RESEARCHING, "slack", "…")
    article = await articles.save(
        article, Change(replace(article, status=Status.FAILED, error=error), why="slack")
    )
    await articles.save(article, Change(replace(article, status=Status.RESEARCHING, error=None), why="retry"))
    assert [head.key for head in await outbox.heads()] == [f"article:{article.id}:status"]


async def test_progress_of_a_leg_that_was_overtaken_is_not_shown(pool: Pool) -> None:
    articles = Articles(pool)
    article = await articles.add(NEW, first_messages=first)
    moved = await articles.save(article, Change(replace(article, status=Status.OUTLINING), why="found"))
    late = Outgoing(f"article:{article.id}:status", {"kind": "status", "topic": "late"})
    assert not await articles.tell_progress(article, late)
    assert await articles.tell_progress(moved, late)


async def test_a_word_means_the_newest_gate_posted_above_it(pool: Pool) -> None:
    articles, outbox = Articles(pool), Outbox(pool)
    article = await at_outline(articles)
    await articles.tell(article, Outgoing("gate2", {"kind": "outline"}, on="outline", version=2))
    for ts in ("99.000000", "100.000001", "200.000000"):
        [head] = await outbox.heads()
        assert await articles.posting_in("C1")
        await outbox.sent(head, ts=ts, permalink=None)
        await outbox.link(head, f"https://slack/{ts}")
    assert not await articles.posting_in("C1")
    assert await articles.asked_above(article.id, "100.000001") is None
    assert await articles.asked_above(article.id, "150.000000") == ("outline", 1)
    assert await articles.asked_above(article.id, "1000.000000") == ("outline", 2)
    thread = await articles.in_thread("C1", "99.000000")
    assert thread is not None
    assert (thread.id, thread.permalink) == (article.id, "https://slack/99.000000")


async def test_new_messages_go_before_edits_and_in_their_order(pool: Pool) -> None:
    articles, outbox = Articles(pool), Outbox(pool)
    article = await articles.add(NEW, first_messages=first)
    status_key = f"article:{article.id}:status"

    async def send_next() -> str:
        [head] = await outbox.heads()
        await outbox.sent(head, ts=head.ts or f"{head.id}.000000", permalink=None)
        return head.key

    assert await send_next() == status_key
    for number in range(3):
        await articles.tell(article, Outgoing(status_key, {"kind": "status", "topic": str(number)}))
    await articles.tell(article, Outgoing("a", {"kind": "note"}))
    await articles.tell(article, Outgoing("b", {"kind": "note"}))
    assert [await send_next() for _ in range(3)] == ["a", "b", status_key]
    assert await outbox.heads() == []


async def test_an_edit_made_while_its_message_is_being_sent_is_not_lost(pool: Pool) -> None:
    articles, outbox = Articles(pool), Outbox(pool)
    article = await articles.add(NEW, first_messages=first)
    [sending] = await outbox.heads()
    await articles.tell(article, Outgoing(sending.key, {"kind": "status", "topic": "newer"}))
    await outbox.sent(sending, ts="1.000000", permalink=None)
    [again] = await outbox.heads()
    assert (again.ts, again.message["topic"]) == ("1.000000", "newer")


async def test_one_process_sends(pool: Pool) -> None:
    outbox = Outbox(pool)
    async with (
        outbox.as_only_sender(lambda: None) as first_holds,
        outbox.as_only_sender(lambda: None) as second_holds,
    ):
        assert (first_holds(), second_holds()) == (True, False)
    async with outbox.as_only_sender(lambda: None) as later_holds:
        assert later_holds()


async def test_the_sender_knows_when_it_has_lost_its_lock_with_its_connection(pool: Pool) -> None:
    lost = asyncio.Event()
    async with Outbox(pool).as_only_sender(lost.set) as holds:
        assert holds()
        await pool.execute(
            "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and database = "
            "(select oid from pg_database where datname = current_database())"
        )
        async with asyncio.timeout(10):
            await lost.wait()
        assert not holds()


async def test_the_sender_is_woken_by_what_is_put_out(pool: Pool) -> None:
    woken = asyncio.Event()
    async with Outbox(pool).as_only_sender(woken.set):
        await Articles(pool).add(NEW, first_messages=first)
        async with asyncio.timeout(10):
            await woken.wait()


async def test_a_leg_that_ended_without_a_word_to_its_queue_is_freed(pool: Pool) -> None:
    articles = Articles(pool)
    article = await articles.add(NEW, first_messages=first)
    await pool.execute("update procrastinate_jobs set status = 'doing'")
    assert await free_ended_legs(pool, seconds=0) == []  # it is at work
    await articles.save(article, Change(replace(article, status=Status.OUTLINING), why="found"))
    assert await free_ended_legs(pool, seconds=60) == []  # it may be on its way to say so
    assert len(await free_ended_legs(pool, seconds=0)) == 1
    assert [status for status, _, _ in await jobs(pool)] == ["succeeded", "todo"]


async def test_of_two_moves_without_words_the_later_one_is_refused(pool: Pool) -> None:
    articles = Articles(pool)
    article = await articles.add(NEW, first_messages=first)
    moved = await articles.save(article, Change(replace(article, status=Status.OUTLINING), why="found"))
    with pytest.raises(Moved):
        await articles.save(article, Change(replace(article, status=Status.CANCELLED), why="too late"))
    assert await articles.get(article.id) == moved


async def test_a_message_that_cannot_be_written_takes_its_move_back(pool: Pool) -> None:
    articles = Articles(pool)
    article = await at_outline(articles)
    before = await jobs(pool)
    with pytest.raises(Exception, match="JSON compliant"):
        await articles.save(
            article,
            Change(
                replace(article, status=Status.WRITING),
                why="approve",
                decision=NewDecision("outline", Action.APPROVE, "", None, "U1", 1),
                messages=[Outgoing("note", {"kind": "note", "score": math.nan})],
                claims=["event:1"],
            ),
        )
    assert await articles.get(article.id) == article
    assert await jobs(pool) == before
    assert await pool.fetchval("select count(*) from inbox") == 0


async def test_the_same_text_again_is_no_edit(pool: Pool) -> None:
    articles, outbox = Articles(pool), Outbox(pool)
    article = await articles.add(NEW, first_messages=first)
    [head] = await outbox.heads()
    await outbox.sent(head, ts="1.000000", permalink=None)
    await articles.tell(article, Outgoing(head.key, head.message))
    assert await outbox.heads() == []
    await articles.tell(article, Outgoing(head.key, {"kind": "status", "topic": "新しい"}))
    assert [again.message["topic"] for again in await outbox.heads()] == ["新しい"]


async def test_a_new_text_does_not_wait_for_what_the_old_one_met(pool: Pool) -> None:
    articles, outbox = Articles(pool), Outbox(pool)
    article = await articles.add(NEW, first_messages=first)
    [head] = await outbox.heads()
    await outbox.postpone(head, timedelta(hours=1))
    await articles.tell(article, Outgoing(head.key, {"kind": "status", "topic": "newer"}))
    [newer] = await outbox.heads()
    assert (newer.attempts, newer.wait_seconds) == (0, 0)
    await outbox.give_up(newer, "msg_too_long")
    await articles.tell(article, Outgoing(head.key, {"kind": "status", "topic": "shorter"}))
    assert [shorter.message["topic"] for shorter in await outbox.heads()] == ["shorter"]


async def test_a_leg_at_work_is_told_to_stop_when_its_article_is_cancelled(pool: Pool) -> None:
    articles = Articles(pool)
    article = await articles.add(NEW, first_messages=first)
    await pool.execute("update procrastinate_jobs set status = 'doing'")  # as a worker that took it
    await articles.save(article, Change(replace(article, status=Status.CANCELLED), why="cancel"))
    assert await pool.fetchval("select abort_requested from procrastinate_jobs")


async def test_the_next_leg_is_announced_once_the_one_before_has_ended(pool: Pool) -> None:
    articles = Articles(pool)
    article = await articles.add(NEW, first_messages=first)
    announced: asyncio.Queue[int] = asyncio.Queue()
    async with pool.acquire() as connection, asyncio.timeout(10):
        await connection.add_listener(
            "procrastinate_any_queue_v1",
            lambda *event: announced.put_nowait(json.loads(str(event[3]))["job_id"]),
        )
        await pool.execute("update procrastinate_jobs set status = 'doing'")
        await articles.save(article, Change(replace(article, status=Status.OUTLINING), why="found"))
        rows = await pool.fetch("select id from procrastinate_jobs order by id")
        ended, following = [row["id"] for row in rows]
        # While the first still holds the lock nobody can take the second: this one is heard in vain.
        assert await announced.get() == following
        assert announced.empty()
        await pool.execute("select procrastinate_finish_job_v1($1, 'succeeded', true)", ended)
        assert await announced.get() == following
        await connection.reset()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("broken \x00 off", "broken \ufffd off"),
        ("断\x00开 \ud83d", "断\ufffd开 \ufffd"),
        ("切\x00断 \udd10", "切\ufffd断 \ufffd"),
    ],
    ids=["en", "zh", "ja"],
)
async def test_characters_that_postgresql_does_not_have_cost_no_answer(
    pool: Pool, text: str, stored: str
) -> None:
    articles = Articles(pool)
    article = await at_outline(articles)
    wish = NewDecision("outline", Action.REVISE, "shorter", None, "U1", 1)
    working = await articles.save(
        article, Change(replace(article, status=Status.OUTLINING), why=text, decision=wish)
    )
    writing = replace(working, status=Status.WRITING, draft={"title": text}, version=1)
    await articles.save(
        working, Change(writing, why=text, outcome=text, version=NewVersion(1, {"title": text}, text, 2))
    )
    [version] = await articles.versions(article.id)
    assert (version["markdown"], version["draft"]) == (stored, {"title": stored})
    assert version["sha256"] == hashlib.sha256(stored.encode()).hexdigest()
    assert [move["why"] for move in await articles.history(article.id)][-2:] == [stored, stored]
    now = await articles.get(article.id)
    assert now is not None
    assert [decision.outcome for decision in now.decisions] == [stored]


async def test_a_message_that_was_sent_is_marked_so_while_its_article_moves(pool: Pool) -> None:
    articles, outbox = Articles(pool), Outbox(pool)
    article = await articles.add(NEW, first_messages=first)
    [head] = await outbox.heads()

    async def waits() -> bool:
        count: int = await pool.fetchval("select count(*) from pg_locks where not granted")
        return count > 0

    for mark in (outbox.sent(head, ts="1.000000", permalink=None), outbox.link(head, "https://slack.test/1")):
        async with pool.acquire() as connection, asyncio.timeout(10):
            # In the order of a move: the article's row, then its messages.
            async with connection.transaction():
                await connection.execute("select from articles where id = $1 for update", article.id)
                marking = asyncio.create_task(mark)
                while True:
                    if await waits():
                        break
                    await asyncio.sleep(0.01)
                await connection.execute("update outbox set revision = revision + 1 where id = $1", head.id)
            await marking
    now = await articles.get(article.id)
    assert now is not None
    assert (now.thread_ts, now.permalink) == ("1.000000", "https://slack.test/1")


async def test_what_a_leg_has_used_is_not_forgotten_by_whoever_spoke_meanwhile(pool: Pool) -> None:
    articles = Articles(pool)
    read = await articles.add(NEW, first_messages=first)
    used = {**read.usage, "requests": 3, "input_tokens": 900}
    await articles.spent(read, used)  # the leg was cut off, and starts again
    wish = NewDecision("outline", Action.REVISE, "短く", None, "U1", 1, kept=True)
    kept = await articles.save(read, Change(read, why="kept", decision=wish))
    assert kept.usage == used
    more = {**used, "requests": 4, "input_tokens": 1_200}
    assert (await articles.save(kept, Change(replace(kept, usage=more), why="kept"))).usage == more
