"""What the local Slack refuses, and with which error: the table is Slack's, the inputs are hostile."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from bot.local_slack.app import BOT_SCOPES
from bot.local_slack.people import Person
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, NotPossible

Json = dict[str, Any]


@dataclass
class Caller:
    """Calls the Web API as any HTTP client would, in a workspace with some channels."""

    slack: LocalSlack
    session: aiohttp.ClientSession
    ana: Person
    bo: Person
    places: dict[str, Channel]

    async def __call__(self, method: str, token: str | None = None, **args: Any) -> Json:
        headers = {"Authorization": f"Bearer {token or self.slack.bot_token}"}
        async with self.session.post(self.slack.base_url + method, json=args, headers=headers) as answer:
            body: Json = await answer.json()
            return body

    async def form(self, method: str, **args: Any) -> Json:
        headers = {"Authorization": f"Bearer {self.slack.bot_token}"}
        async with self.session.post(self.slack.base_url + method, data=args, headers=headers) as answer:
            body: Json = await answer.json()
            return body

    async def post(self, place: str = "articles", **content: Any) -> Json:
        return await self("chat.postMessage", channel=self.places[place].id, **content)


@pytest.fixture
async def call() -> AsyncIterator[Caller]:
    async with LocalSlack() as slack, aiohttp.ClientSession() as session:
        ana, bo = slack.add_person("Ana"), slack.add_person("Bo")
        places = {
            "articles": slack.add_channel("articles", [ana, slack.bot]),
            "strange": slack.add_channel("strange", [ana]),
            "secret": slack.add_channel("secret", [ana], private=True),
            "our secret": slack.add_channel("our-secret", [ana, slack.bot], private=True),
            "old": slack.add_channel("old", [ana, slack.bot], is_archived=True),
            "news": slack.add_channel("news", [ana, slack.bot], is_read_only=True),
        }
        yield Caller(slack, session, ana, bo, places)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("strange", "not_in_channel"),
        ("secret", "channel_not_found"),
        ("old", "is_archived"),
        ("news", "restricted_action_read_only_channel"),
    ],
)
async def test_the_bot_posts_only_where_it_may(call: Caller, place: str, error: str) -> None:
    assert (await call.post(place, text="hello"))["error"] == error
    assert call.slack.history(call.places[place]) == []


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({}, "no_text"),
        ({"text": "  \n"}, "no_text"),
        ({"text": "x" * 40_001}, "msg_too_long"),
        ({"text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"text": "x", "blocks": "[{"}, "invalid_blocks_format"),
        ({"text": "x", "blocks": "hello"}, "invalid_blocks_format"),
        ({"text": "x", "blocks": ["hello"]}, "invalid_blocks_format"),
        ({"text": "x", "blocks": {"type": "divider"}}, "invalid_blocks_format"),
        ({"text": "x", "metadata": {"event_type": "x"}}, "invalid_metadata_format"),
        ({"text": "x", "metadata": {"event_type": "x", "event_payload": "y"}}, "invalid_metadata_format"),
        ({"text": "x", "username": "Bo"}, "missing_scope"),
        ({"text": "x", "markdown_text": "y"}, "markdown_text_conflict"),
        ({"text": "x", "thread_t": "1.000001"}, "invalid_arguments"),
        ({"text": "x", "mrkdwn": "maybe"}, "invalid_arguments"),
        ({"text": {"type": "plain_text"}}, "invalid_arguments"),
    ],
)
async def test_a_message_that_slack_does_not_take_is_refused(call: Caller, content: Json, error: str) -> None:
    answer = await call.post(**content)
    assert answer["ok"] is False
    assert answer["error"] == error
    assert call.slack.history(call.places["articles"]) == []


async def test_an_unknown_argument_is_named(call: Caller) -> None:
    answer = await call.post(text="x", thread="1.0")
    assert answer["response_metadata"]["messages"] == [
        "[ERROR] unknown argument: thread [json-pointer:/thread]"
    ]


async def test_a_reply_needs_the_parents_ts(call: Caller) -> None:
    parent = await call.post(text="parent")
    reply = await call.post(text="reply", thread_ts=parent["ts"])
    assert (await call.post(text="again", thread_ts=reply["ts"]))["error"] == "cannot_reply_to_message"


async def test_a_long_text_without_blocks_is_split_as_slack_splits_it(call: Caller) -> None:
    text = "審" * 4_000 + "```"
    await call.post(text=text)
    assert [m.text for m in call.slack.history(call.places["articles"])] == ["審" * 4_000, "```"]


async def test_an_update_takes_less_text_than_a_post_and_only_ones_own_message(call: Caller) -> None:
    where = {"channel": call.places["articles"].id}
    mine = await call.post(text="mine")
    theirs = await call.ana.say(call.places["articles"], "theirs")

    assert (await call("chat.update", ts=mine["ts"], text="x" * 4_001, **where))["error"] == "msg_too_long"
    assert (await call("chat.update", ts=theirs.ts, text="x", **where))["error"] == "cant_update_message"
    assert (await call("chat.delete", ts=theirs.ts, **where))["error"] == "cant_delete_message"
    assert (await call("chat.update", ts="1.0", text="x", **where))["error"] == "message_not_found"
    assert (await call("chat.update", ts=mine["ts"], **where))["error"] == "no_text"
    assert [m.text for m in call.slack.history(where["channel"])] == ["mine", "theirs"]


async def test_an_update_of_the_text_alone_keeps_the_blocks(call: Caller) -> None:
    mine = await call.post(text="mine", blocks=[{"type": "divider"}])
    await call("chat.update", channel=call.places["articles"].id, ts=mine["ts"], text="changed")
    (message,) = call.slack.history(call.places["articles"])
    assert (message.text, [b["type"] for b in message.blocks]) == ("changed", ["divider"])


async def test_only_somebody_in_the_channel_sees_an_ephemeral(call: Caller) -> None:
    where = {"channel": call.places["articles"].id, "text": "for you"}
    assert (await call("chat.postEphemeral", user=call.bo.id, **where))["error"] == "user_not_in_channel"
    assert (await call("chat.postEphemeral", user="U0NOBODY", **where))["error"] == "user_not_in_channel"
    assert (await call("chat.postEphemeral", **where))["error"] == "invalid_arguments"
    assert (await call("chat.postEphemeral", user=call.ana.id, **where))["ok"]
    assert [m.text for m in call.ana.ephemerals] == ["for you"]
    assert call.bo.ephemerals == []


@pytest.mark.parametrize(
    ("method", "token", "error"),
    [
        ("auth.test", "", "not_authed"),
        ("auth.test", "xoxb-wrong", "invalid_auth"),
        ("auth.test", "xapp-local-app", "not_allowed_token_type"),
        ("apps.connections.open", "xoxb-local-bot", "not_allowed_token_type"),
        ("team.info", "xoxb-local-bot", "missing_scope"),
        ("chat.postMesage", "xoxb-local-bot", "unknown_method"),
        ("chat.postMessage", "xoxb-local-bot", "invalid_arguments"),
        ("usergroups.users.list", "xoxb-local-bot", "invalid_arguments"),
    ],
)
async def test_a_call_needs_the_right_token_scope_and_arguments(
    call: Caller, method: str, token: str, error: str
) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with call.session.post(call.slack.base_url + method, headers=headers) as answer:
        assert (await answer.json())["error"] == error


async def test_a_missing_scope_is_named_with_those_that_were_granted() -> None:
    scopes = [scope for scope in BOT_SCOPES if scope != "groups:history"]
    async with LocalSlack(scopes=scopes) as slack, aiohttp.ClientSession() as session:
        secret = slack.add_channel("secret", [slack.bot], private=True)
        headers = {"Authorization": f"Bearer {slack.bot_token}"}
        data = {"channel": secret.id}
        async with session.post(
            slack.base_url + "conversations.history", data=data, headers=headers
        ) as answer:
            body = await answer.json()
    assert (body["error"], body["needed"]) == ("missing_scope", "groups:history")
    assert body["provided"] == ",".join(scopes)


async def test_a_method_that_takes_forms_only_does_not_read_json(call: Caller) -> None:
    parent = await call.post(text="parent")
    args = {"channel": call.places["articles"].id, "ts": parent["ts"]}
    assert (await call("conversations.replies", **args))["error"] == "invalid_arguments"
    assert (await call.form("conversations.replies", **args))["ok"]


async def test_a_body_that_is_no_json_is_said_to_be_none(call: Caller) -> None:
    headers = {"Authorization": f"Bearer {call.slack.bot_token}", "Content-Type": "application/json"}
    url = call.slack.base_url + "chat.postMessage"
    for body in ("{", "[]", '"x"', "null"):
        async with call.session.post(url, data=body, headers=headers) as answer:
            assert (await answer.json())["error"] == "invalid_json"


async def test_a_thread_is_read_where_the_bot_is(call: Caller) -> None:
    said = {
        name: await call.ana.say(call.places[name], "hello") for name in ("strange", "secret", "our secret")
    }
    errors = {
        name: (await call.form("conversations.replies", channel=m.channel, ts=m.ts)).get("error")
        for name, m in said.items()
    }
    assert errors == {"strange": "not_in_channel", "secret": "channel_not_found", "our secret": None}
    gone = await call.form("conversations.replies", channel=said["our secret"].channel, ts="1.000001")
    assert gone["error"] == "thread_not_found"


async def test_a_long_thread_comes_in_pages(call: Caller) -> None:
    parent = await call.ana.say(call.places["articles"], "parent")
    for number in range(5):
        await call.ana.say(call.places["articles"], f"reply {number}", thread_ts=parent.ts)
    args: Json = {"channel": parent.channel, "ts": parent.ts, "limit": "4"}
    first = await call.form("conversations.replies", **args)
    rest = await call.form("conversations.replies", **args, cursor=first["response_metadata"]["next_cursor"])
    assert [m["text"] for m in first["messages"]] == ["parent", "reply 0", "reply 1", "reply 2"]
    assert [m["text"] for m in rest["messages"]] == ["reply 3", "reply 4"]
    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert (await call.form("conversations.replies", **args, cursor="x"))["error"] == "invalid_cursor"


async def test_the_bot_finds_who_people_are(call: Caller) -> None:
    guest = call.slack.add_person("Guest", is_ultra_restricted=True, tz="Europe/Vienna")
    stranger = call.slack.add_person("Stranger", team="T0OTHER", is_stranger=True)
    group = call.slack.add_usergroup("editors", [call.ana, guest])

    shown = [(await call.form("users.info", user=who.id))["user"] for who in (call.ana, guest, stranger)]
    assert [u["is_ultra_restricted"] for u in shown] == [False, True, False]
    assert [u.get("is_stranger", False) for u in shown] == [False, False, True]
    assert [u["team_id"] == call.slack.workspace.team for u in shown] == [True, True, False]
    assert shown[1]["tz"] == "Europe/Vienna"
    members = await call.form("usergroups.users.list", usergroup=group.id)
    assert members["users"] == [call.ana.id, guest.id]
    assert (await call.form("usergroups.users.list", usergroup="S0X"))["error"] == "no_such_subteam"
    assert (await call.form("users.info", user="U0X"))["error"] == "user_not_found"


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ({"files": "[]"}, "invalid_arguments"),
        ({"files": '[{"id": "F0X"}]'}, "file_not_found"),
        ({"files": "[{}]"}, "file_not_found"),
        ({"files": "nothing"}, "invalid_arguments"),
    ],
)
async def test_an_upload_that_was_not_begun_is_not_completed(call: Caller, steps: Json, error: str) -> None:
    assert (await call.form("files.completeUploadExternal", **steps))["error"] == error


async def test_an_upload_must_be_the_bytes_that_were_announced(call: Caller) -> None:
    ticket = await call.form("files.getUploadURLExternal", filename="a.md", length="6")
    complete = {"files": json.dumps([{"id": ticket["file_id"]}]), "channel_id": call.places["articles"].id}
    assert (await call.form("files.completeUploadExternal", **complete))["error"] == "file_update_failed"
    async with call.session.post(ticket["upload_url"], data=b"shorter") as answer:
        assert answer.status == 400
    async with call.session.post(ticket["upload_url"], data="文章".encode()) as answer:
        assert answer.status == 200
    strange = {**complete, "channel_id": call.places["strange"].id}
    assert (await call.form("files.completeUploadExternal", **strange))["error"] == "not_in_channel"
    assert call.slack.files == []
    assert (await call.form("files.completeUploadExternal", **complete))["ok"]
    assert (await call.form("files.completeUploadExternal", **complete))["error"] == "file_not_found"


async def test_reactions_and_links_answer_as_slack_does(call: Caller) -> None:
    parent = await call.post(text="parent")
    reply = await call.post(text="reply", thread_ts=parent["ts"])
    where = {"channel": call.places["articles"].id, "timestamp": parent["ts"]}
    assert (await call("reactions.add", name="eyes", **where))["ok"]
    assert (await call("reactions.add", name="eyes", **where))["error"] == "already_reacted"
    assert (await call("reactions.add", name="no such", **where))["error"] == "invalid_name"
    assert (await call("reactions.remove", name="eyes", **where))["ok"]
    assert (await call("reactions.remove", name="eyes", **where))["error"] == "no_reaction"
    link = await call.form("chat.getPermalink", channel=where["channel"], message_ts=reply["ts"])
    assert link["permalink"].endswith(f"?thread_ts={parent['ts']}&cid={where['channel']}")


async def test_people_cannot_do_what_slack_does_not_let_them(call: Caller) -> None:
    with pytest.raises(NotPossible, match="not in #articles"):
        await call.bo.say(call.places["articles"], "hello")
    with pytest.raises(NotPossible, match="archived"):
        await call.ana.say(call.places["old"], "hello")
    with pytest.raises(NotPossible, match="Only admins"):
        await call.ana.say(call.places["news"], "hello")
    with pytest.raises(NotPossible, match="not a valid command"):
        await call.ana.command(call.places["articles"], "/articles", "x")
    with pytest.raises(NotPossible, match="cannot see"):
        await call.bo.command(call.places["secret"], "/article", "x")
    with pytest.raises(NotPossible, match="starts a thread"):
        await call.ana.say(call.places["articles"], "hello", thread_ts="1.0")


async def test_the_bot_sees_the_channels_it_may_know_of(call: Caller) -> None:
    async def names(**args: Any) -> list[str]:
        answer = await call.form("conversations.list", **args)
        return [channel["name"] for channel in answer["channels"]]

    assert await names() == ["articles", "strange", "old", "news"]
    assert await names(types="private_channel") == ["our-secret"]
    assert await names(exclude_archived="true", limit="2") == ["articles", "strange"]
    assert (await call.form("conversations.list", types="rooms"))["error"] == "invalid_types"
    assert (await call.form("conversations.list", types="im"))["error"] == "missing_scope"

    shown = await call.form("conversations.info", channel=call.places["strange"].id, include_num_members="1")
    assert (shown["channel"]["is_member"], shown["channel"]["num_members"]) == (False, 1)
    hidden = await call.form("conversations.info", channel=call.places["secret"].id)
    assert hidden["error"] == "channel_not_found"
    members = await call.form("conversations.members", channel=call.places["articles"].id)
    assert members["members"] == [call.ana.id, call.slack.bot.id]


async def test_a_direct_conversation_is_opened_once(call: Caller) -> None:
    opened = [(await call("conversations.open", users=call.ana.id))["channel"]["id"] for _ in range(2)]
    assert opened[0] == opened[1] == call.slack.dm(call.ana).id
    posted = await call("chat.postMessage", channel=call.ana.id, text="for you")
    assert posted["channel"] == opened[0]
    assert (await call("conversations.open"))["error"] == "users_list_not_supplied"
    assert (await call("conversations.open", users="U0X"))["error"] == "user_not_found"
    several = f"{call.ana.id},{call.bo.id}"
    assert (await call("conversations.open", users=several))["error"] == "missing_scope"


async def test_the_history_is_newest_first_and_without_replies(call: Caller) -> None:
    first = await call.ana.say(call.places["articles"], "first")
    await call.ana.say(call.places["articles"], "in the thread", thread_ts=first.ts)
    shared = await call.ana.say(call.places["articles"], "shared", thread_ts=first.ts, broadcast=True)
    last = await call.ana.say(call.places["articles"], "last")

    async def texts(**args: Any) -> list[str]:
        answer = await call("conversations.history", channel=first.channel, **args)
        return [message["text"] for message in answer["messages"]]

    assert await texts() == ["last", "shared", "first"]
    assert await texts(oldest=first.ts, latest=last.ts) == ["shared"]
    assert await texts(oldest=shared.ts, inclusive=True) == ["last", "shared"]
    wrong = await call("conversations.history", channel=first.channel, oldest="yesterday")
    assert wrong["error"] == "invalid_ts_oldest"
