"""The local Slack when things go wrong: faults, limits, ids that expire, connections that go."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.local_slack.people import Person
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, WaitedInVain

Json = dict[str, Any]
TEXTS = {
    "en": "Move from MD5 to Argon2id",
    "zh": "从 MD5 迁移到 Argon2id：“先改登录”",
    "ja": "MD5 から Argon2id へ移行する「まずログイン」",
}


class Clock:
    """Time that moves only when a test says so."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Place:
    def __init__(self, slack: LocalSlack, clock: Clock) -> None:
        self.slack, self.clock = slack, clock
        self.ana: Person = slack.add_person("Ana")
        self.channel: Channel = slack.add_channel("articles", [self.ana, slack.bot])
        self.client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url, retry_handlers=[])

    async def post(self, text: str = "hello", **more: Any) -> Json:
        answer = await self.client.chat_postMessage(channel=self.channel.id, text=text, **more)
        assert isinstance(answer.data, dict)
        return answer.data

    @property
    def texts(self) -> list[str]:
        return [m.text for m in self.slack.history(self.channel)]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def place(clock: Clock) -> AsyncIterator[Place]:
    async with LocalSlack(clock=clock) as slack:
        yield Place(slack, clock)


async def error_of(call: Any) -> tuple[str, int]:
    with pytest.raises(SlackApiError) as refused:
        await call
    return refused.value.response["error"], refused.value.response.status_code


async def test_a_planned_error_comes_as_often_as_it_was_planned(place: Place) -> None:
    place.slack.fail("chat.postMessage", 2, error="internal_error")
    assert await error_of(place.post()) == ("internal_error", 200)
    place.slack.fail("chat.update", error="fatal_error")
    assert await error_of(place.post()) == ("internal_error", 200)
    assert (await place.post())["ok"]
    assert [call.ok for call in place.slack.calls_of("chat.postMessage")] == [False, False, True]


async def test_a_planned_status_has_no_effect_on_the_channel(place: Place) -> None:
    place.slack.fail("chat.postMessage", status=503)
    place.slack.fail("chat.postMessage", status=429, error="ratelimited", retry_after=7)
    assert (await error_of(place.post()))[1] == 503
    with pytest.raises(SlackApiError) as refused:
        await place.post()
    assert refused.value.response.headers["Retry-After"] == "7"
    assert place.texts == []


@pytest.mark.parametrize(("drop", "posted"), [("before", []), ("after", ["hello"])])
async def test_a_lost_answer_leaves_the_message_only_when_slack_had_taken_it(
    place: Place, drop: Any, posted: list[str]
) -> None:
    place.slack.fail("chat.postMessage", drop=drop)
    with pytest.raises(aiohttp.ClientError):
        await place.post()
    assert place.texts == posted
    assert (await place.post("again"))["ok"]


async def test_a_fault_may_pick_the_call_that_it_strikes(place: Place) -> None:
    place.slack.fail("chat.postMessage", error="internal_error", when=lambda args: "二" in args["text"])
    assert (await place.post("一"))["ok"]
    assert await error_of(place.post("二")) == ("internal_error", 200)
    assert place.texts == ["一"]


async def test_too_many_posts_to_one_channel_wait_and_others_do_not(clock: Clock) -> None:
    async with LocalSlack(clock=clock, rate_limits=True) as slack:
        place = Place(slack, clock)
        other = slack.add_channel("other", [slack.bot])
        for _ in range(4):
            await place.post()
        assert await error_of(place.post()) == ("ratelimited", 429)
        await place.client.chat_postMessage(channel=other.id, text="elsewhere")
        clock.now += 1
        await place.post("a second later")
        assert await error_of(place.post()) == ("ratelimited", 429)
        assert place.texts == ["hello"] * 4 + ["a second later"]


async def test_the_sdk_waits_as_long_as_it_is_told() -> None:
    async with LocalSlack() as slack:
        place = Place(slack, Clock())
        place.client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
        slack.fail("chat.postMessage", status=429, error="ratelimited", retry_after=0)
        assert (await place.post())["ok"]
        assert [call.status for call in slack.calls_of("chat.postMessage")] == [429, 200]


VIEW: Json = {"type": "modal", "title": {"type": "plain_text", "text": "x"}, "blocks": []}


async def test_a_trigger_id_opens_one_view_within_three_seconds(place: Place) -> None:
    give = place.slack.parts.triggers.give
    used, old = give(place.ana.id), give(place.ana.id)
    await place.client.views_open(trigger_id=used, view=VIEW)
    place.clock.now += 3.1

    errors = [
        await error_of(place.client.views_open(trigger_id=trigger, view=VIEW))
        for trigger in (used, old, "1.2.x")
    ]
    assert [code for code, _ in errors] == [
        "exchanged_trigger_id",
        "expired_trigger_id",
        "invalid_trigger_id",
    ]
    assert len(place.ana.open_views) == 1


async def test_a_view_that_slack_refuses_does_not_use_up_the_trigger(place: Place) -> None:
    trigger = place.slack.parts.triggers.give(place.ana.id)
    bad = {**VIEW, "title": {"type": "plain_text", "text": "x" * 25}}
    assert await error_of(place.client.views_open(trigger_id=trigger, view=bad)) == ("invalid_arguments", 200)
    await place.client.views_open(trigger_id=trigger, view=VIEW)


async def test_an_update_with_an_old_hash_is_refused(place: Place) -> None:
    opened = await place.client.views_open(
        trigger_id=place.slack.parts.triggers.give(place.ana.id), view=VIEW
    )
    first = opened["view"]
    await place.client.views_update(view_id=first["id"], hash=first["hash"], view=VIEW)
    again = place.client.views_update(view_id=first["id"], hash=first["hash"], view=VIEW)
    assert await error_of(again) == ("hash_conflict", 200)
    assert await error_of(place.client.views_update(view_id="V0X", view=VIEW)) == ("not_found", 200)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_a_response_url_takes_five_answers_in_thirty_minutes(place: Place, text: str) -> None:
    urls = place.slack.parts.response_urls
    spent, old = (AsyncWebhookClient(urls.give(place.ana.id, place.channel.id)) for _ in range(2))
    answers = [await spent.send(text=f"{text} {i}") for i in range(6)]
    place.clock.now += 30 * 60 + 1
    late = await old.send(text=text)

    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert json.loads(answers[5].body)["error"] == "used_url"
    assert json.loads(late.body)["error"] == "expired_url"
    assert [m.text for m in place.ana.ephemerals] == [f"{text} {i}" for i in range(5)]
    assert place.texts == []


async def test_a_response_url_refuses_what_any_message_is_refused_for(place: Place) -> None:
    url = AsyncWebhookClient(place.slack.parts.response_urls.give(place.ana.id, place.channel.id))
    bodies: list[Json] = [
        {"text": ""},
        {"text": "x" * 40_001},
        {"text": "x", "blocks": [{"type": "section"}]},
        {"text": "x", "response_type": "loud"},
        {"text": 7},
    ]
    answers = [await url.send_dict(body) for body in bodies]
    assert [json.loads(answer.body)["error"] for answer in answers] == [
        "no_text",
        "msg_too_long",
        "invalid_blocks",
        "invalid_arguments",
        "invalid_arguments",
    ]
    assert place.ana.ephemerals == []


async def test_a_response_url_can_speak_to_all_and_replace_what_was_clicked(place: Place) -> None:
    posted = await place.post("Outline 1")
    clicked = place.slack.workspace.message(place.channel.id, posted["ts"])
    url = AsyncWebhookClient(place.slack.parts.response_urls.give(place.ana.id, place.channel.id, clicked))
    await url.send(text="Outline 1, approved", replace_original=True)
    await url.send(text="to all", response_type="in_channel")
    assert place.texts == ["Outline 1, approved", "to all"]


class Socket:
    """One connection as a plain websocket client makes it."""

    def __init__(self, place: Place, session: aiohttp.ClientSession) -> None:
        self.place, self.session = place, session

    async def open(self) -> aiohttp.ClientWebSocketResponse:
        opened = await self.place.client.apps_connections_open(app_token=self.place.slack.app_token)
        return await self.session.ws_connect(opened["url"])


@pytest.fixture
async def socket(place: Place) -> AsyncIterator[Socket]:
    async with aiohttp.ClientSession() as session:
        yield Socket(place, session)


async def test_hello_counts_the_connections_and_each_event_goes_to_one_of_them(
    place: Place, socket: Socket
) -> None:
    first, second = await socket.open(), await socket.open()
    hellos = [await first.receive_json(timeout=5), await second.receive_json(timeout=5)]
    assert [h["num_connections"] for h in hellos] == [1, 2]
    for text in TEXTS.values():
        await place.ana.say(place.channel, text)

    heard = []
    for connection in (first, second, first):
        envelope = await connection.receive_json(timeout=5)
        await connection.send_json({"envelope_id": envelope["envelope_id"]})
        heard.append(envelope["payload"]["event"]["text"])
    assert heard == list(TEXTS.values())
    await place.slack.wait_for(lambda: len(place.slack.ack_times) == 3)


async def test_an_event_is_retried_with_its_id_and_its_number(clock: Clock) -> None:
    async with (
        LocalSlack(clock=clock, ack_seconds=0.2, retry_after=(0, 60)) as slack,
        aiohttp.ClientSession() as session,
    ):
        place = Place(slack, clock)
        connection = await Socket(place, session).open()
        await connection.receive_json(timeout=5)
        await place.ana.say(place.channel, "approve")
        first, again = await connection.receive_json(timeout=5), await connection.receive_json(timeout=5)
        assert first["envelope_id"] != again["envelope_id"]
        assert first["payload"] == again["payload"]
        assert (first["retry_attempt"], again["retry_attempt"], again["retry_reason"]) == (0, 1, "timeout")

        await connection.send_json({"envelope_id": first["envelope_id"]})
        failures = await slack.wait_for(lambda: slack.ack_failures)
        await slack.wait_for(lambda: failures[0].late_after)


async def test_an_ack_with_words_that_nobody_asked_for_is_complained_of(place: Place, socket: Socket) -> None:
    connection = await socket.open()
    await connection.receive_json(timeout=5)
    said = await place.ana.say(place.channel, "approve")
    envelope = await connection.receive_json(timeout=5)
    await connection.send_json({"envelope_id": "unknown"})
    await connection.send_str("no json")
    await connection.send_json({"envelope_id": envelope["envelope_id"], "payload": {"text": "thanks"}})
    await place.slack.wait_for(lambda: place.slack.events_about(said)[0].acked)
    assert len(place.slack.complaints) == 3
    assert "thanks" in place.slack.complaints[2]
    assert place.texts == ["approve"]


async def test_a_ticket_opens_one_connection(place: Place, socket: Socket) -> None:
    opened = await place.client.apps_connections_open(app_token=place.slack.app_token)
    async with socket.session.ws_connect(opened["url"]) as connection:
        await connection.receive_json(timeout=5)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await socket.session.ws_connect(opened["url"])


async def test_the_eleventh_connection_is_sent_away(place: Place, socket: Socket) -> None:
    kept = [await socket.open() for _ in range(10)]
    eleventh = await socket.open()
    assert (await eleventh.receive_json(timeout=5))["reason"] == "too_many_websockets"
    assert place.slack.connections == len(kept)


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "link_disabled"])
async def test_a_connection_is_told_to_go(place: Place, socket: Socket, reason: Any) -> None:
    connection = await socket.open()
    await connection.receive_json(timeout=5)
    await place.slack.disconnect(reason)
    assert (await connection.receive_json(timeout=5))["reason"] == reason
    assert (place.slack.connections == 0) is (reason == "link_disabled")


async def test_after_a_refresh_events_go_to_the_new_connection(place: Place, socket: Socket) -> None:
    old = await socket.open()
    await old.receive_json(timeout=5)
    await place.slack.disconnect("refresh_requested")
    new = await socket.open()
    await new.receive_json(timeout=5)
    for text in ("one", "two"):
        await place.ana.say(place.channel, text)
    assert [(await new.receive_json(timeout=5))["payload"]["event"]["text"] for _ in range(2)] == [
        "one",
        "two",
    ]


async def test_events_come_only_for_what_the_app_subscribed_to_and_sees(clock: Clock) -> None:
    async with LocalSlack(events=("message.im", "app_mention"), clock=clock) as slack:
        place = Place(slack, clock)
        strange = slack.add_channel("strange", [place.ana])
        mention = f"<@{slack.bot.id}> 你好"
        for channel in (place.channel, strange, slack.dm(place.ana)):
            await place.ana.say(channel, mention)
        heard = [(sent.event["type"], sent.event["channel"]) for sent in slack.events]
        assert heard == [("app_mention", place.channel.id), ("message", slack.dm(place.ana).id)]


async def test_an_uninstalled_app_is_told_and_its_token_is_dead(place: Place, socket: Socket) -> None:
    connection = await socket.open()
    await connection.receive_json(timeout=5)
    place.slack.uninstall()
    kinds = [(await connection.receive_json(timeout=5))["payload"]["event"]["type"] for _ in range(2)]
    assert kinds == ["tokens_revoked", "app_uninstalled"]
    assert await error_of(place.post()) == ("account_inactive", 200)


async def test_people_of_another_workspace_and_their_files_are_marked(place: Place, socket: Socket) -> None:
    connection = await socket.open()
    await connection.receive_json(timeout=5)
    stranger = place.slack.add_person("Stranger", team="T0OTHER", is_stranger=True)
    place.slack.invite(place.channel, stranger)
    await stranger.say(place.channel, "approve")
    event = (await connection.receive_json(timeout=5))["payload"]["event"]
    assert (event["user_team"], event["team"], event["user"]) == ("T0OTHER", "T0OTHER", stranger.id)


async def test_ts_rise_and_are_the_same_in_each_run(place: Place) -> None:
    seen = [(await place.post())["ts"] for _ in range(3)]
    assert seen == ["1700000000.000100", "1700000000.000200", "1700000000.000300"]


async def test_waiting_in_vain_shows_what_was_said_last(place: Place) -> None:
    await place.post("the last words")
    with pytest.raises(WaitedInVain, match="the last words"):
        await place.slack.wait_for(lambda: False, timeout=0.05)


async def test_after_an_outage_everything_is_where_it_was(place: Place, socket: Socket) -> None:
    connection = await socket.open()
    await place.post("before")
    await place.slack.stop()
    with pytest.raises(aiohttp.ClientError):
        await place.post("lost")
    await place.slack.start()
    await place.post("after")
    assert place.texts == ["before", "after"]
    assert place.slack.connections == 0
    await connection.close()


async def test_the_bot_hears_its_own_words_as_a_message_and_never_as_a_mention(place: Place) -> None:
    await place.post(f"<@{place.slack.bot.id}> 你好")
    (heard,) = place.slack.events
    assert heard.event["type"] == "message"
    assert heard.event["bot_id"] == place.slack.app.bot_id
