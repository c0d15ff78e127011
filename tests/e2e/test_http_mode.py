"""Slack over HTTP: what the bot does over Socket Mode it does here, and what is not Slack's it refuses."""

import asyncio
import json
import logging
import time
import tracemalloc
from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot import app
from bot.doctor import examine
from bot.health import PortError
from bot.local_slack.http_delivery import FORM, JSON, HttpDelivery, Signed, sign
from bot.local_slack.workspace import Message
from knowledge.article import Status
from tests.e2e import test_article_journey as journey
from tests.e2e import test_bad_input as bad_input
from tests.e2e import test_conversation as conversation
from tests.e2e import test_learning as learning
from tests.e2e import test_slack_trouble as slack_trouble
from tests.e2e import test_sources as sources
from tests.e2e.desk import PATIENCE, TOPICS, Desk
from tests.free_port import free_port

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"  # that of Slack's own example
WORDS = {"en": "revise: say less of MD5", "zh": "修改：少说 MD5", "ja": "修正：MD5 は短く"}


@pytest.fixture
async def desk(desk: Desk) -> AsyncIterator[Desk]:
    """The desk of the other tests, but its Slack calls the bot over HTTP; so all tests here do."""
    with free_port() as port:
        over_http = {"slack_app_token": None, "slack_signing_secret": SECRET, "port": port}
        desk.settings = desk.settings.model_copy(update=over_http)
        delivery = HttpDelivery(desk.slack, f"http://127.0.0.1:{port}/slack/events", SECRET)
        async with desk.stack:  # the bot ends before its Slack does
            yield desk
        await delivery.close()


@pytest.fixture
def delivery(desk: Desk) -> HttpDelivery:
    assert isinstance(desk.slack.parts.socket, HttpDelivery)
    return desk.slack.parts.socket


# Acknowledgements, answers to commands, retries, duplicates: the tests are those of Socket Mode.
test_a_topic_becomes_an_article = journey.test_a_topic_becomes_a_published_article_that_people_approved
test_a_bad_command_is_answered = bad_input.test_a_command_that_cannot_start_an_article_says_why_at_once
test_a_second_delivery_does_nothing = conversation.test_a_second_delivery_of_the_same_event_does_nothing
test_a_mention_counts_once = conversation.test_a_mention_that_comes_as_two_events_counts_once
test_of_two_approvals_one_counts = conversation.test_of_two_approvals_at_once_one_counts_and_the_other_is_told
test_the_modal_asks_for_changes = conversation.test_the_modal_asks_for_changes_like_a_word
test_the_first_command = conversation.test_the_first_command_is_acknowledged_while_slack_is_slow
test_a_shortcut_reads_a_message = learning.test_a_message_without_links_and_files_is_a_document_itself
test_a_source_is_removed = sources.test_to_forget_a_source_asks_once_more_and_is_written_down
test_an_old_button = slack_trouble.test_a_button_that_nobody_knows_any_more_is_acknowledged


def event_of(desk: Desk, text: str, parent: Message) -> bytes:
    """The body of an event that Slack has not sent: somebody says `text` in the thread."""
    event = {
        "type": "message",
        "channel": desk.channel.id,
        "user": desk.ana.id,
        "text": text,
        "ts": desk.slack.workspace.next_ts(),
        "thread_ts": parent.ts,
    }
    team = desk.slack.workspace.team
    callback = {"type": "event_callback", "team_id": team, "event_id": f"Ev{time.time_ns()}", "event": event}
    return json.dumps(callback, ensure_ascii=False).encode()


async def at_outline(desk: Desk) -> Message:
    await desk.start()
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, "Approve outline 1")
    return parent


async def test_slack_may_check_the_address(desk: Desk, delivery: HttpDelivery) -> None:
    await desk.start(worker=False)
    assert await delivery.verify_url()


@pytest.mark.parametrize("language", WORDS)
async def test_what_slack_sends_again_is_heard_once_and_may_be_the_only_copy(
    desk: Desk, delivery: HttpDelivery, language: str
) -> None:
    parent = await at_outline(desk)
    body, now = event_of(desk, WORDS[language], parent), int(time.time())
    for number in (1, 2):  # the first try was lost on the way
        again = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": "http_timeout"}
        headers = {"Content-Type": JSON, **again, **sign(SECRET, body, timestamp=now + number)}
        assert (await delivery.post(Signed(headers, body)))[0] == 200
    await desk.asked(parent, "Approve outline 2")
    article = await desk.article(parent, Status.AWAITING_OUTLINE)
    assert len(article.decisions) == 1


def forged(body: bytes, kind: str) -> tuple[dict[str, str], bytes]:
    """Headers and body of a request that is not, or not quite, Slack's."""
    now = int(time.time())
    right = sign(SECRET, body, timestamp=now)
    timestamp, signature = right.values()
    names = list(right)

    def headers(*values: str) -> dict[str, str]:
        return dict(zip(names, values, strict=True))

    match kind:
        case "missing":
            return {}, body
        case "no timestamp":
            return {names[1]: signature}, body
        case "another secret":
            return sign("0" * 32, body, timestamp=now), body
        case "old":
            return sign(SECRET, body, timestamp=now - 301), body
        case "of the future":
            return sign(SECRET, body, timestamp=now + 310), body
        case "old with a new time":
            return headers(timestamp, sign(SECRET, body, timestamp=now - 600)[names[1]]), body
        case "altered body":
            return right, body.replace(b"revise", b"cancel")
        case "no number":
            return headers("yesterday", signature), body
        case "digits of another script":
            return headers(
                timestamp.translate(str.maketrans("0123456789", "０１２３４５６７８９")), signature
            ), body
        case "not ASCII":
            return headers(timestamp, "v0=签名"), body
        case "another version":
            return headers(timestamp, signature.replace("v0=", "v1=")), body
    raise AssertionError(kind)


FORGERIES = (
    *("missing", "no timestamp", "another secret", "old", "of the future", "old with a new time"),
    *("altered body", "no number", "digits of another script", "not ASCII", "another version"),
)


async def test_what_is_not_signed_by_slack_is_refused_and_not_repeated_in_the_log(
    desk: Desk, delivery: HttpDelivery, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)  # before the app is made: Bolt's loggers take it over from there
    parent = await at_outline(desk)
    caplog.clear()
    for kind in FORGERIES:
        headers, body = forged(event_of(desk, "revise: 秘密 ひみつ secret", parent), kind)
        status, _, answer = await delivery.post(Signed({"Content-Type": JSON, **headers}, body))
        assert (kind, status) == (kind, 401)
        assert json.loads(answer) == {"error": "invalid request"}
    article = await desk.article(parent)
    assert (article.status, article.decisions) == (Status.AWAITING_OUTLINE, ())
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]
    assert len([line for line in told if "was refused" in line]) == 1  # a flood fills no disk
    for secret in (SECRET, "秘密", "ひみつ", "secret ", "v0=", "revise"):
        assert secret not in caplog.text


async def test_the_same_request_a_second_time_is_refused(
    desk: Desk, delivery: HttpDelivery, caplog: pytest.LogCaptureFixture
) -> None:
    await at_outline(desk)
    for signed in list(delivery.requests):
        assert (await delivery.post(signed))[0] == 401
    # A header that is not signed makes no other request of it.
    marked = Signed({**delivery.requests[0].headers, "X-Slack-Retry-Num": "1"}, delivery.requests[0].body)
    assert (await delivery.post(marked))[0] == 401
    assert len(await desk.knowledge.articles.newest()) == 1


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (JSON, b"\xff\xfe"),
        (JSON, b"{"),
        (JSON, b"[1]"),
        (JSON, b"[" * 100_000),
        (FORM, b"payload=%7B"),
        (FORM, b"payload=[]"),
        (FORM, 'payload={"type":"\xe9"'.encode("latin-1")),
        (JSON, b""),
        (JSON, b"null"),
        (JSON, b'{"type": "event_callback"}'),
        (JSON, b'{"type": "event_callback", "event": 7}'),
        (FORM, b"command=/article"),
    ],
)
async def test_a_body_that_is_no_request_of_slack_is_refused_without_a_fault(
    desk: Desk, delivery: HttpDelivery, content_type: str, body: bytes
) -> None:
    await desk.start(worker=False)
    for headers in (sign(SECRET, body, timestamp=int(time.time())), {}):
        status, _, _ = await delivery.post(Signed({"Content-Type": content_type, **headers}, body))
        assert 400 <= status < 500 or (headers and status in (200, 500))
    assert await delivery.verify_url()


async def test_ten_megabytes_are_refused_before_they_are_in_memory(
    desk: Desk, delivery: HttpDelivery
) -> None:
    await desk.start(worker=False)
    piece = b" " * 65_536

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(160):
            yield piece

    headers = {"Content-Type": JSON, **sign(SECRET, piece * 160, timestamp=int(time.time()))}
    said_how_long = {**headers, "Content-Length": str(160 * len(piece))}
    async with aiohttp.ClientSession() as session:
        for given in (headers, said_how_long):
            tracemalloc.start()
            async with session.post(delivery.url, data=pieces(), headers=given) as response:
                assert response.status == 413
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 4 * 1024 * 1024
        async with session.post(delivery.url, data=b"", headers={"Content-Encoding": "gzip"}) as response:
            assert response.status == 415
    assert await delivery.verify_url()


async def test_a_body_that_never_ends_is_not_waited_for(
    desk: Desk, delivery: HttpDelivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack_http.READ_SECONDS", 0.1)
    await desk.start(worker=False)
    port = desk.settings.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /slack/events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    async with asyncio.timeout(PATIENCE):
        assert b" 408 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_a_port_that_is_taken_is_named_in_one_sentence(desk: Desk) -> None:
    await desk.start(worker=False)
    with pytest.raises(
        PortError, match=rf"^PORT={desk.settings.port} cannot .* \(Address already in use\): .*\.$"
    ):
        await app.serve(desk.settings, desk.knowledge, worker=False, ready=lambda: None)


async def test_the_doctor_says_how_slack_is_heard_and_what_is_missing_for_it(desk: Desk) -> None:
    found = [finding async for finding in examine(desk.settings)]
    [heard] = [finding for finding in found if "over HTTP" in finding.text]
    assert heard.mark == "✓"
    assert f"port {desk.settings.port} at /slack/events" in heard.text
    unset = desk.settings.model_copy(update={"slack_signing_secret": None})
    lacking = [finding.text async for finding in examine(unset) if finding.mark == "✗"]
    assert any("SLACK_APP_TOKEN" in text and "SLACK_SIGNING_SECRET" in text for text in lacking)


@pytest.mark.parametrize("language", WORDS)
async def test_nothing_that_people_write_is_in_the_log(
    desk: Desk, language: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    await desk.slack.wait_for(lambda: desk.bots(parent), PATIENCE)
    await desk.ana.say(desk.channel, WORDS[language], thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: len(desk.bots(parent)) > 1, PATIENCE)
    article = await desk.article(parent, Status.AWAITING_OUTLINE)
    said = article.decisions[0].text
    assert caplog.records
    for text in (TOPICS[language], said, SECRET, desk.slack.bot_token):
        assert text not in caplog.text
