"""Buttons: each names the article and the version it was shown for, and ends where the words end."""

from collections.abc import Callable, Coroutine
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond

from bot.background import Background
from bot.blocks import (
    APPLY_REVIEW,
    APPROVE,
    CANCEL,
    REQUEST_CHANGES,
    RETRY,
    START_ANYWAY,
    BadButton,
    read_offer,
    read_value,
    request_changes_view,
)
from bot.decisions import Seen
from bot.replies import Word
from bot.texts import say
from bot.workflow import Requested, Workflow
from knowledge.article import Action, Mode

WORDS = {
    APPROVE: Word(Action.APPROVE, "", None),
    APPLY_REVIEW: Word(Action.REVISE, "", None),
    CANCEL: Word(Action.CANCEL, "", None),
    RETRY: Word(Action.RETRY, "", None),
}


OpenView = Callable[[str, dict[str, Any]], Coroutine[Any, Any, None]]


def register(app: AsyncApp, workflow: Workflow, background: Background, *, open_view: OpenView) -> None:
    """`open_view(trigger_id, view)` shows a modal."""

    async def decide(
        ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], respond: AsyncRespond
    ) -> None:
        await ack()
        try:
            value = read_value(action["value"])
        except BadButton as error:
            await _tell(respond, str(error))
            return

        async def fault() -> None:
            await _tell(respond, say(value.language, "not_written_down"))

        click = f"click:{body['trigger_id']}"
        background.start(
            workflow.act(
                value.article_id,
                WORDS[action["action_id"]],
                Seen(value.on, value.version),
                user_id=body["user"]["id"],
                key=click,
                claims=(click,),
            ),
            on_fault=fault,
        )

    for action_id in WORDS:
        app.action(action_id)(decide)

    @app.action(REQUEST_CHANGES)
    async def open_request(
        ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], respond: AsyncRespond
    ) -> None:
        await ack()
        try:
            value = read_value(action["value"])
        except BadButton as error:
            await _tell(respond, str(error))
            return
        # A trigger lives 3 s: the modal opens before anything is looked up; who may ask is checked when sent.
        view = request_changes_view(value.article_id, value.on or "draft", value.version, value.language)

        async def fault() -> None:
            await _tell(respond, say(value.language, "form_did_not_open"))

        background.start(open_view(body["trigger_id"], view), on_fault=fault)

    @app.action(START_ANYWAY)
    async def start_anyway(
        ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], respond: AsyncRespond
    ) -> None:
        await ack()
        try:
            offer = read_offer(action["value"])
        except BadButton as error:
            await _tell(respond, str(error))
            return
        requested = Requested(
            topic=offer.topic,
            language=offer.language,
            mode=Mode(offer.mode),
            anyway=True,
            team_id=body["team"]["id"],
            channel_id=body["channel"]["id"],
            user_id=body["user"]["id"],
            command=f'/article "{offer.topic}"',
            claim=f"offer:{offer.id}",
        )

        async def start() -> None:
            answer = await workflow.request(requested)
            await _tell(respond, answer.text if answer else say(offer.language, "started_anyway"))

        async def fault() -> None:
            await _tell(respond, say(offer.language, "not_written_down"))

        background.start(start(), on_fault=fault)


async def _tell(respond: AsyncRespond, text: str) -> None:
    await respond(text=text, response_type="ephemeral", replace_original=False)
