"""Messages in threads. Everything that no listener wants is acknowledged all the same, and left."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

from bot.background import Background
from bot.blocks import Drawn
from bot.command import topic_language
from bot.texts import say
from bot.workflow import Said, Workflow

# Edits, deletions, joins and bots' messages decide nothing.
PEOPLES_SUBTYPES = frozenset({None, "thread_broadcast", "file_share"})

ANYTHING = re.compile(".*", re.DOTALL)


Whisper = Callable[[str, str, str | None, Drawn], Awaitable[Any]]


def register(app: AsyncApp, workflow: Workflow, background: Background, *, whisper: Whisper) -> None:
    """`whisper(channel, user, thread, what)` tells one person alone, past the outbox, which may be away."""

    async def message(body: dict[str, Any], event: dict[str, Any], context: AsyncBoltContext) -> None:
        if event.get("subtype") not in PEOPLES_SUBTYPES or event.get("bot_id") or "user" not in event:
            return
        thread_ts = event.get("thread_ts")
        if thread_ts is None or thread_ts == event["ts"]:
            return
        said = Said(
            channel_id=event["channel"],
            thread_ts=thread_ts,
            ts=event["ts"],
            user_id=event["user"],
            text=event.get("text", ""),
            bot_user_id=context.bot_user_id or "",
            # A mention in a channel comes twice, as `app_mention` and as `message`, with two event ids.
            claims=(
                f"event:{body['event_id']}",
                f"message:{body['team_id']}:{event['channel']}:{event['ts']}",
            ),
        )

        async def fault() -> None:
            away = say(topic_language(said.text), "not_written_down")
            await whisper(said.channel_id, said.user_id, said.thread_ts, Drawn(away, []))

        background.start(workflow.hear(said), on_fault=fault)

    app.event("message")(message)
    app.event("app_mention")(message)


def register_catch_all(app: AsyncApp) -> None:
    """Registered last: without a listener Bolt sends no ack at all, and Slack shows the person an error."""

    async def only_ack(ack: AsyncAck) -> None:
        await ack()

    app.event(ANYTHING)(only_ack)
    app.action(ANYTHING)(only_ack)
    app.command(ANYTHING)(only_ack)
    app.view(ANYTHING)(only_ack)
    app.shortcut(ANYTHING)(only_ack)
