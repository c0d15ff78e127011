"""A Slack on this machine: the Web API, Socket Mode, response_urls and files, on a free port of 127.0.0.1.

It refuses what Slack refuses, and lets a program (a test, the demo) play the people:

    async with LocalSlack() as slack:
        ana = slack.add_person("Ana")
        articles = slack.add_channel("articles", members=[ana, slack.bot])
        # The app under test is unmodified: it is only told where this Slack is.
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
        app = AsyncApp(client=client)
        handler = AsyncSocketModeHandler(app, slack.app_token)
        await handler.connect_async()
        await slack.wait_for(lambda: slack.connections)

        answer = await ana.command(articles, "/article", "Why Argon2id?")   # answer.acked, answer.seen
        status = await slack.wait_for(lambda: slack.history(articles))
        reply = await ana.say(articles, "approve", thread_ts=status[0].ts)
        await ana.click(slack.thread(articles, status[0].ts)[1], "Approve outline 1")
        await ana.shortcut(reply, "Add to knowledge base")
        print(plain_text(status[0]))

Messages are frozen: an edit makes a new one, `slack.current(message)` finds it. `slack.calls` holds every
call of the Web API, `slack.fail(...)` makes the next ones go wrong.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from aiohttp import web

from bot.local_slack.addresses import Addresses
from bot.local_slack.app import BOT_SCOPES, EVENTS, SHORTCUTS, InstalledApp
from bot.local_slack.callbacks import ResponseUrls, Triggers
from bot.local_slack.events import Events, SentEvent
from bot.local_slack.faults import Drop, Fault, RateLimits
from bot.local_slack.methods import Parts
from bot.local_slack.people import Person
from bot.local_slack.socket_mode import Ack, AckFailure, SocketMode
from bot.local_slack.web_api import Call, WebApi
from bot.local_slack.workspace import Channel, File, Member, Message, Usergroup, WithId, Workspace

T = TypeVar("T")
LARGEST_BODY = 64 * 1024 * 1024


class LocalSlack:
    """One workspace with one app installed.

    `clock` gives seconds since the epoch: trigger ids, response_urls, rate limits and `ts` go by it.
    `ack_seconds`, `retry_after` and `share_seconds` are real time; retries wait as long as said after each
    failure. `scopes` and `events` are what the app was granted and subscribed to; `shortcuts` are those of
    messages, by what their menu says.
    """

    def __init__(
        self,
        *,
        app_name: str = "Copydesk",
        commands: Sequence[str] = ("/article",),
        shortcuts: Mapping[str, str] = SHORTCUTS,
        scopes: Sequence[str] = BOT_SCOPES,
        events: Sequence[str] = EVENTS,
        rate_limits: bool = False,
        clock: Callable[[], float] = time.time,
        ack_seconds: float = 3.0,
        retry_after: Sequence[float] = (0, 60, 300),
        share_seconds: float = 0.02,
        port: int = 0,
    ) -> None:
        self.workspace = workspace = Workspace(clock)
        self.bot = Member(workspace.next_id("U"), app_name, workspace.team, is_bot=True)
        workspace.members[self.bot.id] = self.bot
        self.app = app = InstalledApp(
            self.bot.id,
            bot_id=workspace.next_id("B"),
            app_id=workspace.next_id("A"),
            name=app_name,
            commands=tuple(commands),
            shortcuts=dict(shortcuts),
            scopes=tuple(scopes),
            events=tuple(events),
        )
        self._socket = SocketMode(workspace, app, ack_seconds)
        self._events = Events(workspace, app, self._socket, retry_after)
        self.parts = Parts(
            workspace,
            app,
            self._socket,
            self._events,
            Triggers(workspace),
            ResponseUrls(workspace, self._events),
            share_seconds,
        )
        self._web = WebApi(self.parts, RateLimits(clock) if rate_limits else None)
        self._port = port
        self._runner: web.AppRunner | None = None

    # running

    async def start(self) -> None:
        addresses = Addresses(self.parts, self._web.faults)
        server = web.Application(client_max_size=LARGEST_BODY)
        server.add_routes(
            [
                web.route("*", "/api/{method}", self._web.handle),
                web.get("/link/", self._socket.link),
                web.post("/response/{token}", addresses.respond),
                web.post("/upload/v1/{file}", addresses.upload),
                web.get("/files-pri/{file}/{name:.*}", addresses.download),
            ]
        )
        self._runner = web.AppRunner(server, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]  # kept, so that a stop and a start are an outage
        self.workspace.origin = f"http://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        await self._events.close()
        await self._socket.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # where the app finds it

    @property
    def base_url(self) -> str:
        """For `AsyncWebClient(base_url=…)`."""
        return f"{self.workspace.origin}/api/"

    @property
    def bot_token(self) -> str:
        return self.app.bot_token

    @property
    def app_token(self) -> str:
        return self.app.app_token

    # furnishing

    def add_person(
        self,
        name: str,
        *,
        tz: str = "Etc/UTC",
        locale: str = "en-US",
        team: str | None = None,
        is_admin: bool = False,
        is_restricted: bool = False,
        is_ultra_restricted: bool = False,
        is_stranger: bool = False,
    ) -> Person:
        """Somebody new. `team` is another workspace's id, for Slack Connect."""
        member = Member(
            self.workspace.next_id("U"),
            name,
            team or self.workspace.team,
            tz,
            locale,
            is_admin=is_admin,
            is_restricted=is_restricted,
            is_ultra_restricted=is_ultra_restricted,
            is_stranger=is_stranger,
        )
        self.workspace.members[member.id] = member
        return Person(self.parts, member)

    def add_channel(
        self,
        name: str,
        members: Iterable[WithId],
        *,
        private: bool = False,
        is_archived: bool = False,
        is_read_only: bool = False,
    ) -> Channel:
        return self.workspace.add_channel(
            name,
            "private" if private else "public",
            [member.id for member in members],
            is_archived=is_archived,
            is_read_only=is_read_only,
        )

    def dm(self, *people: WithId) -> Channel:
        """The direct channel of these people; of one person: theirs with the bot."""
        ids = [person.id for person in people]
        return self.workspace.direct_channel(*(ids if len(ids) > 1 else [*ids, self.bot.id]))

    def add_usergroup(self, handle: str, members: Iterable[WithId]) -> Usergroup:
        group = Usergroup(self.workspace.next_id("S"), handle, tuple(member.id for member in members))
        self.workspace.usergroups[group.id] = group
        return group

    def invite(self, channel: Channel, who: WithId) -> None:
        """What `/invite` does."""
        if who.id not in channel.members:
            channel.members.append(who.id)
            self.workspace.changed()

    def kick(self, channel: Channel, who: WithId) -> None:
        channel.members.remove(who.id)
        self.workspace.changed()

    # looking

    def history(self, channel: WithId | str) -> list[Message]:
        """What stands in the channel, without replies; oldest first."""
        return self.workspace.history(id_of(channel))

    def thread(self, channel: WithId | str, ts: str) -> list[Message]:
        """A message and its replies, oldest first."""
        return self.workspace.thread(id_of(channel), ts)

    def current(self, message: Message) -> Message | None:
        """How the message stands now; None once it is deleted."""
        return self.workspace.message(message.channel, message.ts)

    def revisions(self, message: Message) -> list[Message]:
        """All that the message ever said, oldest first."""
        return self.workspace.revisions(message)

    @property
    def files(self) -> list[File]:
        """Files that are uploaded and complete."""
        return [file for file in self.workspace.files.values() if file.completed]

    @property
    def calls(self) -> list[Call]:
        return self._web.calls

    def calls_of(self, method: str) -> list[Call]:
        return [call for call in self._web.calls if call.method == method]

    @property
    def connections(self) -> int:
        return len(self._socket.connections)

    @property
    def ack_times(self) -> list[Ack]:
        return self._socket.ack_times

    @property
    def ack_failures(self) -> list[AckFailure]:
        return self._socket.ack_failures

    @property
    def complaints(self) -> list[str]:
        """What Slack would drop without a word: payloads nobody asked for, refused answers."""
        return self._socket.complaints

    @property
    def events(self) -> list[SentEvent]:
        return self._events.sent

    def events_about(self, message: Message) -> list[SentEvent]:
        """The events of this message being new: `message`, and `app_mention` when it names the bot."""
        return [
            sent
            for sent in self.events
            if (sent.event.get("channel"), sent.event.get("ts")) == (message.channel, message.ts)
        ]

    async def wait_for(self, predicate: Callable[[], T], timeout: float = 5) -> T:  # noqa: ASYNC109 - see Workspace.wait_for
        """The first true answer of `predicate`, asked at each change; WaitedInVain after `timeout` s."""
        return await self.workspace.wait_for(predicate, timeout)

    # trouble

    def fail(
        self,
        method: str,
        times: int = 1,
        *,
        error: str | None = None,
        status: int | None = None,
        retry_after: int | None = None,
        drop: Drop | None = None,
        delay: float = 0,
        when: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        """Make the next `times` calls of a method go wrong; see Fault. `when` picks by arguments."""
        self._web.faults.plan(Fault(method, times, error, status, retry_after, drop, delay, when))

    async def redeliver(self, event: SentEvent) -> bool:
        """Send an event once more, with the same event_id; whether it was acknowledged."""
        return await self._events.redeliver(event)

    async def disconnect(
        self, reason: Literal["warning", "refresh_requested", "link_disabled"] = "refresh_requested"
    ) -> None:
        """Ask every open connection to go."""
        await self._socket.disconnect(reason)

    def fall_silent(self) -> None:
        """Every open connection is half-open from now on: not closed, and nothing is answered."""
        self._socket.fall_silent()

    def refuse_connections(self, times: int) -> None:
        """The next connections are refused although their addresses were given, and these are used up."""
        self._socket.links_to_refuse = times

    def uninstall(self) -> None:
        """Somebody removes the app: it is told so, and its tokens are worth nothing from now on."""
        self.app.installed = False
        revoked = {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [self.bot.id]}}
        for event in (revoked, {"type": "app_uninstalled"}):
            if event["type"] in self.app.events:
                self._events.emit(event)


def id_of(channel: WithId | str) -> str:
    return channel if isinstance(channel, str) else channel.id
