"""The shortcut in a message's menu: acknowledged once it is written down, answered to that person alone."""

from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext, AsyncRespond

from bot.arrivals import Arrivals, NotKept
from bot.background import Background
from bot.learning import Learn
from bot.shared_message import read_message
from bot.texts import say
from knowledge.language import Language


def register(app: AsyncApp, arrivals: Arrivals, background: Background, *, language: Language | None) -> None:
    """`language` is the one that is set for all articles; None = people are answered in theirs."""

    @app.message_shortcut("add_to_knowledge_base")
    async def add_to_knowledge_base(
        ack: AsyncAck, shortcut: dict[str, Any], respond: AsyncRespond, context: AsyncBoltContext
    ) -> None:
        channel_id = shortcut["channel"]["id"]
        message = read_message(
            shortcut["message"], channel_id=channel_id, bot_user_id=context.bot_user_id or ""
        )
        learn = Learn(
            user_id=shortcut["user"]["id"],
            channel_id=channel_id,
            pages=(),
            message=message,
            language=language,
            respond_to=shortcut["response_url"],
            key=f"shortcut:{shortcut['trigger_id']}",
        )

        async def tell() -> None:
            text = say(language or "en", "not_written_down")
            await respond(text=text, response_type="ephemeral", replace_original=False)

        try:
            await arrivals.keep(learn)
        except NotKept:
            # Slack does not send a shortcut again, so it is acknowledged and its person told.
            background.start(tell())
        await ack()
