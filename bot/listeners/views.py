"""The modal of "Request changes…": its text is a `revise:` like any other."""

from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.background import Background
from bot.blocks import REQUEST_CHANGES, REQUEST_FIELD, BadButton, read_value, request_changes_errors
from bot.decisions import Seen
from bot.render import escape
from bot.replies import Word
from bot.texts import say
from bot.workflow import Workflow
from knowledge.article import Action

Direct = Callable[[str, str], Awaitable[None]]


def register(app: AsyncApp, workflow: Workflow, background: Background, *, direct: Direct) -> None:
    """`direct(user, text)` writes to somebody directly: a form has no channel to answer in."""

    @app.view(REQUEST_CHANGES)
    async def request_changes(ack: AsyncAck, body: dict[str, Any], view: dict[str, Any]) -> None:
        try:
            value = read_value(view["private_metadata"])
        except BadButton as error:
            await ack(response_action="errors", errors={REQUEST_FIELD: str(error)})
            return
        text = (view["state"]["values"][REQUEST_FIELD][REQUEST_FIELD]["value"] or "").strip()
        if not text:
            await ack(response_action="errors", errors=request_changes_errors(view))
            return
        await ack()

        async def fault() -> None:
            # What was typed is gone from the screen: it goes back to its author.
            away = say(value.language, "not_written_down")
            await direct(body["user"]["id"], f"{away}\n{escape(text)}")

        background.start(
            workflow.act(
                value.article_id,
                Word(Action.REVISE, text, None),
                Seen(value.on, value.version),
                user_id=body["user"]["id"],
                key=f"view:{view['id']}",
                claims=(f"view:{view['id']}",),
            ),
            on_fault=fault,
        )
