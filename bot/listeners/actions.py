"""Buttons: each names the article and the version it was shown for, and ends where the words end."""

from collections.abc import Callable, Coroutine
from typing import Any, Literal

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond

from bot.arrivals import Arrivals, Commission, Decision, NotKept
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
from bot.slack import NotNow
from bot.source_blocks import FORGET, KEEP, TO_BASE, read_source_value
from bot.sources import OfSource
from bot.texts import say
from bot.workflow import Requested
from knowledge.article import Action, Mode
from knowledge.language import Language

WORDS = {
    APPROVE: Word(Action.APPROVE, "", None),
    APPLY_REVIEW: Word(Action.REVISE, "", None),
    CANCEL: Word(Action.CANCEL, "", None),
    RETRY: Word(Action.RETRY, "", None),
}
SOURCE_WISHES: dict[str, Literal["to_base", "forget"]] = {TO_BASE: "to_base", FORGET: "forget"}

OpenView = Callable[[str, dict[str, Any]], Coroutine[Any, Any, None]]


def register(app: AsyncApp, arrivals: Arrivals, background: Background, *, open_view: OpenView) -> None:
    """`open_view(trigger_id, view)` shows a modal."""

    async def written_down(
        what: Commission | Decision | OfSource, language: Language, respond: AsyncRespond
    ) -> None:
        """Before the ack, which makes Slack forget it; a click that is not acknowledged is lost all the same,
        so it is acknowledged and its clicker told."""
        try:
            await arrivals.keep(what)
        except NotKept:
            background.start(_tell(respond, say(language, "not_written_down")))

    async def decide(
        ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], respond: AsyncRespond
    ) -> None:
        try:
            value = read_value(action["value"])
        except BadButton as error:
            await ack()
            await _tell(respond, str(error))
            return
        decision = Decision(
            value.article_id,
            WORDS[action["action_id"]],
            Seen(value.on, value.version),
            user_id=body["user"]["id"],
            key=f"click:{body['trigger_id']}",
            language=value.language,
            respond_to=body.get("response_url") or "",
        )
        await written_down(decision, value.language, respond)
        await ack()

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

        async def show() -> None:
            try:
                await open_view(body["trigger_id"], view)
            except NotNow as error:
                if not error.ambiguous:
                    raise
                # A trigger opens one form: a second try would be refused, and the first may have opened it.
                await _tell(respond, say(value.language, "form_may_be_open"))

        async def fault() -> None:
            await _tell(respond, say(value.language, "form_did_not_open"))

        background.start(show(), on_fault=fault)

    async def of_source(
        ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], respond: AsyncRespond
    ) -> None:
        value = read_source_value(action["value"])
        if value is None:
            await ack()
            await _tell(respond, say("en", "stale_source_button"))
            return
        asked = OfSource(
            value.document_id,
            SOURCE_WISHES[action["action_id"]],
            user_id=body["user"]["id"],
            channel_id=body["channel"]["id"],
            language=value.language,
            respond_to=body.get("response_url") or "",
            key=f"click:{body['trigger_id']}",
        )
        await written_down(asked, value.language, respond)
        await ack()

    for action_id in SOURCE_WISHES:
        app.action(action_id)(of_source)

    @app.action(KEEP)
    async def keep_source(ack: AsyncAck, action: dict[str, Any], respond: AsyncRespond) -> None:
        """The answer to the question of `/article forget`, which goes away with it."""
        await ack()
        value = read_source_value(action["value"])
        if value is None:
            await _tell(respond, say("en", "stale_source_button"))
            return
        text = say(value.language, "source_kept", id=value.document_id)
        await respond(text=text, response_type="ephemeral", replace_original=True)

    @app.action(START_ANYWAY)
    async def start_anyway(
        ack: AsyncAck, body: dict[str, Any], action: dict[str, Any], respond: AsyncRespond
    ) -> None:
        try:
            offer = read_offer(action["value"])
        except BadButton as error:
            await ack()
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
        commission = Commission(requested, body.get("response_url") or "", started="started_anyway")
        await written_down(commission, offer.language, respond)
        await ack()


async def _tell(respond: AsyncRespond, text: str) -> None:
    await respond(text=text, response_type="ephemeral", replace_original=False)
