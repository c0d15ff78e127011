"""Messages in threads. Everything that no listener wants is acknowledged all the same, and left."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext, AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.arrivals import Arrivals, NotKept, Spoken
from bot.background import Background
from bot.blocks import Drawn
from bot.command import topic_language
from bot.replies import Talk, read_reply
from bot.shared_message import files_of
from bot.texts import say
from bot.workflow import Said

# Edits, deletions, joins and bots' messages decide nothing.
PEOPLES_SUBTYPES = frozenset({None, "thread_broadcast", "file_share"})

ANYTHING = re.compile(".*", re.DOTALL)


Whisper = Callable[[str, str, str | None, Drawn], Awaitable[Any]]


def register(app: AsyncApp, arrivals: Arrivals, background: Background, *, whisper: Whisper) -> None:
    """`whisper(channel, user, thread, what)` tells one person alone, past the outbox, which may be away."""

    async def write_down(
        req: AsyncBoltRequest,
        body: dict[str, Any],
        event: dict[str, Any],
        context: AsyncBoltContext,
        next_: Callable[[], Awaitable[None]],
    ) -> BoltResponse | None:
        """Writes down what a message says; where that fails, 503 keeps Bolt from acknowledging it."""
        spoken = _spoken(body, event, context.bot_user_id or "")
        if spoken is not None:
            said = spoken.said
            try:
                await arrivals.keep(spoken)
            except NotKept:
                if req.headers.get("x-slack-retry-num", ["0"])[0] == "0":  # told once
                    away = Drawn(say(topic_language(said.text), "not_heard_yet"), [])
                    background.start(_whispered(whisper, said, away))
                return BoltResponse(status=503)
        await next_()
        return None

    # A middleware, since Bolt acknowledges an event before its listener runs.
    async def heard() -> None:
        pass

    app.event("message", middleware=[write_down])(heard)
    app.event("app_mention", middleware=[write_down])(heard)


def register_catch_all(app: AsyncApp) -> None:
    """Registered last: without a listener Bolt sends no ack at all, and Slack shows the person an error."""

    async def only_ack(ack: AsyncAck) -> None:
        await ack()

    app.event(ANYTHING)(only_ack)
    app.action(ANYTHING)(only_ack)
    app.command(ANYTHING)(only_ack)
    app.view(ANYTHING)(only_ack)
    app.shortcut(ANYTHING)(only_ack)


def _spoken(body: dict[str, Any], event: dict[str, Any], bot_user_id: str) -> Spoken | None:
    """What somebody said in a thread that may be a word, or brings files; None for talk and for the rest."""
    if event.get("subtype") not in PEOPLES_SUBTYPES or event.get("bot_id") or "user" not in event:
        return None
    thread_ts = event.get("thread_ts")
    if thread_ts is None or thread_ts == event["ts"]:
        return None
    text, files = event.get("text", ""), files_of(event)
    if not files and isinstance(read_reply(text, bot_user_id=bot_user_id), Talk):
        return None
    said = Said(
        channel_id=event["channel"],
        thread_ts=thread_ts,
        ts=event["ts"],
        user_id=event["user"],
        text=text,
        bot_user_id=bot_user_id,
        # A mention in a channel comes twice, as `app_mention` and as `message`, with two event ids.
        claims=(
            f"event:{body['event_id']}",
            f"message:{body['team_id']}:{event['channel']}:{event['ts']}",
        ),
    )
    return Spoken(said, files)


async def _whispered(whisper: Whisper, said: Said, what: Drawn) -> None:
    await whisper(said.channel_id, said.user_id, said.thread_ts, what)
