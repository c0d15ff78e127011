"""The modal of "Request changes…": its text is a `revise:` like any other."""

from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.arrivals import Arrivals, Decision, NotKept
from bot.blocks import REQUEST_CHANGES, REQUEST_FIELD, BadButton, read_value, request_changes_errors
from bot.decisions import Seen
from bot.replies import Word
from bot.texts import say_plain
from knowledge.article import Action


def register(app: AsyncApp, arrivals: Arrivals) -> None:
    """A form closes once it is written down; else it stays open, with what was typed in it."""

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
        decision = Decision(
            value.article_id,
            Word(Action.REVISE, text, None),
            Seen(value.on, value.version),
            user_id=body["user"]["id"],
            key=f"view:{view['id']}",
            language=value.language,
            respond_to=None,
        )
        try:
            await arrivals.keep(decision)
        except NotKept:
            await ack(
                response_action="errors",
                errors={REQUEST_FIELD: say_plain(value.language, "not_written_down")},
            )
            return
        await ack()
