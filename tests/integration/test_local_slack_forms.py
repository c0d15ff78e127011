"""An unmodified Bolt app on the local Slack: buttons, menus, modals and the home tab."""

from collections.abc import AsyncIterator

import pytest
from slack_bolt.async_app import AsyncAck, AsyncRespond

from bot.local_slack.plain_text import plain_text
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import NotPossible
from tests.integration.local_slack_desk import EACH_LANGUAGE, Desk, Json, buttons, desk_on, text_object


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with desk_on(LocalSlack()) as desk:
        yield desk


MODAL: Json = {
    "type": "modal",
    "callback_id": "changes",
    "title": {"type": "plain_text", "text": "Request changes"},
    "submit": {"type": "plain_text", "text": "Send"},
    "private_metadata": "12:1",
    "blocks": [
        {
            "type": "input",
            "block_id": "what",
            "label": {"type": "plain_text", "text": "What to change"},
            "element": {"type": "plain_text_input", "action_id": "text", "min_length": 3, "max_length": 60},
        }
    ],
}


async def test_a_click_carries_the_value_and_the_place_of_the_button(desk: Desk) -> None:
    heard: list[Json] = []

    @desk.app.action("approve")
    async def approve(ack: AsyncAck, body: Json) -> None:
        await ack()
        heard.append(body)

    parent = await desk.post(text="status")
    message = await desk.post(text="Outline 1", thread_ts=parent.ts, blocks=[buttons("Approve", "Cancel")])
    assert await desk.ana.click(message, "Approve")

    await desk.slack.wait_for(lambda: heard)
    body = heard[0]
    assert body["actions"][0]["value"] == "Approve:1"
    assert body["container"]["message_ts"] == body["message"]["ts"] == message.ts
    assert body["container"]["thread_ts"] == parent.ts
    assert body["user"]["id"] == desk.ana.id


async def test_a_button_that_is_gone_is_clicked_only_on_a_stale_screen(desk: Desk) -> None:
    heard: list[str] = []

    @desk.app.action("approve")
    async def approve(ack: AsyncAck, action: Json) -> None:
        await ack()
        heard.append(action["value"])

    message = await desk.post(text="Outline 1", blocks=[buttons("Approve")])
    await desk.client.chat_update(channel=desk.channel.id, ts=message.ts, text="Done", blocks=[])

    with pytest.raises(NotPossible, match="there are: none"):
        await desk.ana.click(message, "Approve")
    assert await desk.ana.click(message, "Approve", stale=True)
    assert heard == ["Approve:1"]
    assert [m.text for m in desk.slack.revisions(message)] == ["Outline 1", "Done"]


@EACH_LANGUAGE
async def test_a_modal_opens_refuses_empty_words_and_sends_them_whole(desk: Desk, text: str) -> None:
    heard: list[Json] = []

    @desk.app.action("change")
    async def change(ack: AsyncAck, body: Json) -> None:
        await ack()
        await desk.client.views_open(trigger_id=body["trigger_id"], view=MODAL)

    @desk.app.view("changes")
    async def changes(ack: AsyncAck, view: Json) -> None:
        heard.append(view)
        if len(heard) == 1:
            await ack(response_action="errors", errors={"what": "Say more."})
        else:
            await ack()

    await desk.ana.click(await desk.post(text="Outline 1", blocks=[buttons("Change")]), "Change")
    (view,) = await desk.slack.wait_for(lambda: desk.ana.open_views)
    with pytest.raises(NotPossible, match="required"):
        await desk.ana.submit(view)
    with pytest.raises(NotPossible, match="at least 3"):
        await desk.ana.submit(view, {"what": "x"})
    with pytest.raises(NotPossible, match="at most 60"):
        await desk.ana.submit(view, {"what": "好" * 61})
    assert heard == []

    assert (await desk.ana.submit(view, {"what/text": text})).errors == {"what": "Say more."}
    assert desk.ana.open_views == [view]
    assert (await desk.ana.submit(view, {"what/text": text})).acked
    assert desk.ana.open_views == []
    assert heard[1]["state"]["values"]["what"]["text"]["value"] == text
    assert heard[1]["private_metadata"] == "12:1"


@pytest.mark.parametrize(
    ("answer", "titles"),
    [
        ({}, []),
        ({"response_action": "clear"}, []),
        ({"response_action": "update", "view": {**MODAL, "title": text_object("二")}}, ["二"]),
        (
            {"response_action": "push", "view": {**MODAL, "title": text_object("二")}},
            ["Request changes", "二"],
        ),
        ({"response_action": "errors", "errors": {"elsewhere": "?"}}, ["Request changes"]),
        (
            {"response_action": "update", "view": {**MODAL, "title": text_object("二" * 25)}},
            ["Request changes"],
        ),
    ],
)
async def test_a_submitted_form_does_what_the_app_answers(
    desk: Desk, answer: Json, titles: list[str]
) -> None:
    @desk.app.view("changes")
    async def changes(ack: AsyncAck) -> None:
        await ack(**answer)

    await desk.client.views_open(trigger_id=desk.slack.parts.triggers.give(desk.ana.id), view=MODAL)
    assert (await desk.ana.submit(desk.ana.open_views[0], {"What to change": "more"})).acked
    assert [view.title for view in desk.ana.open_views] == titles
    refused = titles == ["Request changes"]
    assert len(desk.slack.complaints) == len(desk.ana.notices) == refused


async def test_a_closed_form_is_reported_when_the_app_asked_for_it(desk: Desk) -> None:
    heard: list[Json] = []

    @desk.app.view_closed("changes")
    async def closed(ack: AsyncAck, view: Json) -> None:
        await ack()
        heard.append(view)

    for notify in (False, True):
        trigger = desk.slack.parts.triggers.give(desk.ana.id)
        await desk.client.views_open(trigger_id=trigger, view={**MODAL, "notify_on_close": notify})
        await desk.ana.close(desk.ana.open_views[0])
    await desk.slack.wait_for(lambda: heard)
    assert [view["notify_on_close"] for view in heard] == [True]
    assert desk.ana.open_views == []


async def test_a_menu_is_chosen_from_by_what_it_says(desk: Desk) -> None:
    heard: list[Json] = []

    @desk.app.action("language")
    async def language(ack: AsyncAck, action: Json) -> None:
        await ack()
        heard.append(action["selected_option"])

    options = [
        {"text": text_object(name), "value": code} for code, name in (("zh", "中文"), ("ja", "日本語"))
    ]
    menu = {"type": "static_select", "action_id": "language", "options": options}
    message = await desk.post(text="Language?", blocks=[{"type": "actions", "elements": [menu]}])
    await desk.ana.click(message, "language", value="日本語")
    with pytest.raises(NotPossible, match="no option 'English'"):
        await desk.ana.click(message, "language", value="English")
    await desk.slack.wait_for(lambda: heard)
    assert heard == [options[1]]


async def test_a_home_tab_is_published_when_it_is_opened(desk: Desk) -> None:
    @desk.app.event("app_home_opened")
    async def opened(event: Json) -> None:
        block = {"type": "section", "text": {"type": "mrkdwn", "text": "没有等待的文章"}}
        await desk.client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [block]})

    await desk.ana.open_home()
    home = await desk.slack.wait_for(lambda: desk.ana.home)
    assert home is not None
    assert "没有等待的文章" in plain_text(home)


async def test_a_button_in_an_ephemeral_message_can_be_clicked(desk: Desk) -> None:
    heard: list[Json] = []

    @desk.app.action("approve")
    async def approve(ack: AsyncAck, body: Json, respond: AsyncRespond) -> None:
        await ack()
        heard.append(body)
        await respond("Approved", replace_original=True)

    await desk.client.chat_postEphemeral(
        channel=desk.channel.id, user=desk.ana.id, text="Sure?", blocks=[buttons("Approve")]
    )
    await desk.ana.click(desk.ana.ephemerals[0], "Approve")
    await desk.slack.wait_for(lambda: [m.text for m in desk.ana.ephemerals] == ["Approved"])
    assert heard[0]["container"]["is_ephemeral"] is True
    assert "message" not in heard[0]


async def test_a_click_that_nobody_acks_is_lost_and_the_person_is_told() -> None:
    async with desk_on(LocalSlack(ack_seconds=0.2)) as desk:
        message = await desk.post(text="Outline 1", blocks=[buttons("Approve")])
        assert not await desk.ana.click(message, "Approve")  # no listener: Bolt sends no ack
        assert desk.ana.notices == ["Approve: this app did not respond"]
        assert [(f.kind, f.reason) for f in desk.slack.ack_failures] == [("interactive", "timeout")]
