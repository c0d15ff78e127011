"""Looking for the bot's own message in Slack, as after an answer that was lost."""

from collections.abc import AsyncIterator

import pytest

from bot.blocks import Drawn
from bot.local_slack.people import Person
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message
from bot.manifest import bot_events, bot_scopes
from bot.messages import FileMessage
from bot.slack import EVENT_TYPE, LockedOut, NotNow, Refused, SlackChannel, slack_client

TEXTS = {"en": "Argon2id needs memory", "zh": "Argon2id 需要内存", "ja": "Argon2id はメモリを使う"}


class Place:
    """A channel with the bot in it, and a lot going on."""

    def __init__(self, slack: LocalSlack) -> None:
        self.slack = slack
        self.ana: Person = slack.add_person("Ana")
        self.channel: Channel = slack.add_channel("articles", [self.ana, slack.bot])
        self.bot = SlackChannel(slack_client(slack.bot_token, base_url=slack.base_url))

    async def post(self, text: str, key: str, thread_ts: str | None = None) -> str:
        posted = await self.bot.post(self.channel.id, thread_ts, Drawn(text, []), key=key)
        assert posted.ts is not None
        return posted.ts

    async def chatter(self, messages: int, thread_ts: str | None = None) -> None:
        for number in range(messages):
            await self.ana.say(self.channel, f"{number}", thread_ts=thread_ts)

    def pages(self, method: str) -> int:
        return len(self.slack.calls_of(method))


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack:
        yield Place(slack)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_a_message_is_found_by_its_key_in_a_busy_channel_and_in_a_long_thread(
    place: Place, text: str
) -> None:
    before = await place.ana.say(place.channel, "hello")
    parent = await place.post(text, "article:1:status")
    await place.chatter(450)
    assert await place.bot.find(place.channel.id, None, key="article:1:status", after=before.ts) == parent
    assert place.pages("conversations.history") == 3
    await place.chatter(250, thread_ts=parent)
    reply = await place.post(text, "article:1:outline:1", thread_ts=parent)
    assert await place.bot.find(place.channel.id, parent, key="article:1:outline:1", after=None) == reply
    assert place.pages("conversations.replies") == 2
    assert await place.bot.find(place.channel.id, parent, key="article:1:outline:2", after=None) is None
    assert await place.bot.find(place.channel.id, None, key="article:1:outline:1", after=before.ts) is None


async def test_only_what_is_newer_is_read(place: Place) -> None:
    await place.chatter(300)
    last = await place.ana.say(place.channel, "最後")
    parent = await place.post("密码", "k")
    assert await place.bot.find(place.channel.id, None, key="k", after=last.ts) == parent
    assert place.pages("conversations.history") == 1
    assert await place.bot.find(place.channel.id, None, key="k", after=parent) is None


async def test_a_message_of_another_app_with_the_same_metadata_is_not_ours(place: Place) -> None:
    workspace = place.slack.workspace
    workspace.add(
        Message(
            channel=place.channel.id,
            ts=workspace.next_ts(),
            user=place.ana.id,
            text="copied",
            metadata={"event_type": EVENT_TYPE, "event_payload": {"key": "k"}},
        )
    )
    assert await place.bot.find(place.channel.id, None, key="k", after=None) is None


@pytest.mark.parametrize("fault", [{"status": 429, "retry_after": 7}, {"drop": "before"}, {"status": 503}])
async def test_a_look_that_fails_half_way_says_nothing(place: Place, fault: dict[str, object]) -> None:
    await place.post("密码", "k")
    await place.chatter(250)
    await place.bot.whoami()

    def second_page(arguments: object) -> bool:
        return isinstance(arguments, dict) and bool(arguments.get("cursor"))

    # aiohttp asks once more by itself where a connection was dropped: a look changes nothing.
    times = 2 if "drop" in fault else 1
    place.slack.fail("conversations.history", times, when=second_page, **fault)  # type: ignore[arg-type]  # as pytest has it
    with pytest.raises(NotNow) as failed:
        await place.bot.find(place.channel.id, None, key="k", after="1.0")
    assert failed.value.retry_after == fault.get("retry_after")
    assert await place.bot.find(place.channel.id, None, key="k", after="1.0") is not None


async def test_where_the_bot_may_not_look_it_is_told_so(place: Place) -> None:
    parent = await place.post("密码", "k")
    place.slack.kick(place.channel, place.slack.bot)
    with pytest.raises(Refused, match="not_in_channel"):
        await place.bot.find(place.channel.id, parent, key="k", after=None)
    place.slack.app.bot_token = "xoxb-other"
    with pytest.raises(LockedOut, match="invalid_auth"):
        await place.bot.find(place.channel.id, parent, key="k", after=None)


def file(text: str) -> FileMessage:
    return FileMessage(
        article_id=1, language="zh", version=1, filename="密码.md", title=text, content=f"# {text}\n"
    )


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_an_upload_is_completed_once_by_whoever_comes_first(place: Place, text: str) -> None:
    parent = await place.post("parent", "k")
    ids: list[str] = []

    async def uploaded(file_id: str) -> None:
        ids.append(file_id)

    place.slack.fail("files.completeUploadExternal", drop="before")
    with pytest.raises(NotNow):
        await place.bot.upload(place.channel.id, parent, file(text), file_id=None, uploaded=uploaded)
    [file_id] = ids
    assert await place.bot.upload_of(file_id, place.channel.id) is None
    # The second try completes the first one's upload, and so does a third, which finds it done.
    second = await place.bot.upload(place.channel.id, parent, file(text), file_id=file_id, uploaded=uploaded)
    third = await place.bot.upload(place.channel.id, parent, file(text), file_id=file_id, uploaded=uploaded)
    assert ids == [file_id]
    assert second.ts == third.ts is not None
    assert await place.bot.upload_of(file_id, place.channel.id) == second
    [shared] = [m for m in place.slack.thread(place.channel, parent) if m.files]
    assert shared.ts == second.ts
    [kept] = place.slack.files
    assert (kept.title, kept.content) == (text, f"# {text}\n".encode())


async def test_an_upload_that_slack_has_dropped_is_made_anew(place: Place) -> None:
    parent = await place.post("parent", "k")
    ids: list[str] = []

    async def uploaded(file_id: str) -> None:
        ids.append(file_id)

    posted = await place.bot.upload(
        place.channel.id, parent, file("密码"), file_id="F0GONE", uploaded=uploaded
    )
    assert len(ids) == 1
    assert posted.ts is not None


@pytest.mark.parametrize("fault", [{"drop": "before"}, {"status": 500}])
async def test_bytes_that_do_not_arrive_leave_nothing_behind(place: Place, fault: dict[str, object]) -> None:
    parent = await place.post("parent", "k")

    async def uploaded(file_id: str) -> None:
        raise AssertionError(file_id)

    place.slack.fail("upload", **fault)  # type: ignore[arg-type]  # as pytest has it
    with pytest.raises(NotNow):
        await place.bot.upload(place.channel.id, parent, file("密码"), file_id=None, uploaded=uploaded)
    assert place.slack.files == []
