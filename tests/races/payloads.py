"""What Slack sends, with as much in it as the listeners read."""

from typing import Any

from bot.blocks import REQUEST_CHANGES, REQUEST_FIELD

TEAM, BOT = "T1", "UBOT"
THREAD_TS = "1700000000.000001"  # the first message of each channel is its article's


def event(channel_id: str, number: int, said: dict[str, Any]) -> dict[str, Any]:
    """A message in the thread, or the change of one."""
    said.get("message", said)["thread_ts"] = THREAD_TS
    return {
        "type": "event_callback",
        "team_id": TEAM,
        "event_id": f"Ev{number}",
        "event": said | {"channel": channel_id, "channel_type": "channel"},
        "authorizations": [{"team_id": TEAM, "user_id": BOT, "is_bot": True}],
    }


def click(channel_id: str, by: str, trigger: str, action: str, value: str) -> dict[str, Any]:
    return {
        "type": "block_actions",
        "trigger_id": trigger,
        "team": {"id": TEAM},
        "user": {"id": by, "team_id": TEAM},
        "channel": {"id": channel_id},
        "response_url": "http://127.0.0.1:1/",
        "actions": [{"type": "button", "action_id": action, "block_id": "b", "value": value}],
    }


def form(by: str, view_id: str, value: str, text: str) -> dict[str, Any]:
    """The form of "Request changes…", sent."""
    return {
        "type": "view_submission",
        "team": {"id": TEAM},
        "user": {"id": by, "team_id": TEAM},
        "view": {
            "id": view_id,
            "type": "modal",
            "callback_id": REQUEST_CHANGES,
            "private_metadata": value,
            "state": {"values": {REQUEST_FIELD: {REQUEST_FIELD: {"value": text}}}},
        },
    }
