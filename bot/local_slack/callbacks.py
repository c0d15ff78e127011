"""What Slack hands out with an interaction: trigger ids, which open a view, and response_urls."""

from dataclasses import dataclass

from bot.local_slack.events import Events
from bot.local_slack.limits import Refusal, check_message
from bot.local_slack.workspace import Json, Message, Workspace

TRIGGER_SECONDS = 3.0
RESPONSE_SECONDS = 30 * 60.0
RESPONSE_USES = 5


@dataclass
class Trigger:
    user: str
    at: float
    used: bool = False


class Triggers:
    """Trigger ids: each opens or pushes one view, within three seconds of the interaction."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._given: dict[str, Trigger] = {}

    def give(self, user: str) -> str:
        number = self.workspace.next_number("trigger")
        trigger_id = f"{int(self.workspace.clock() * 1000)}.{number}.{number:032x}"
        self._given[trigger_id] = Trigger(user, self.workspace.clock())
        return trigger_id

    def take(self, trigger_id: str) -> str:
        """The person who acted. Refusal when the id is unknown, used or old."""
        trigger = self._given.get(trigger_id)
        if trigger is None:
            raise Refusal("invalid_trigger_id")
        if trigger.used:
            raise Refusal("exchanged_trigger_id")
        if self.workspace.clock() - trigger.at > TRIGGER_SECONDS:
            raise Refusal("expired_trigger_id")
        trigger.used = True
        return trigger.user


@dataclass
class ResponseUrl:
    user: str
    channel: str
    at: float
    message: Message | None  # the one that was clicked, if any
    uses: int = 0


class ResponseUrls:
    """response_urls: five answers within thirty minutes, even where the app is not in the channel."""

    def __init__(self, workspace: Workspace, events: Events) -> None:
        self.workspace, self.events = workspace, events
        self._given: dict[str, ResponseUrl] = {}

    def give(self, user: str, channel: str, message: Message | None = None) -> str:
        token = f"{self.workspace.next_number('response_url'):024x}"
        self._given[token] = ResponseUrl(user, channel, self.workspace.clock(), message)
        return f"{self.workspace.origin}/response/{token}"

    def answer(self, token: str, body: Json) -> Message | None:
        """Show `body` as Slack would; the message that came of it, or None when one was deleted.

        Refusal with `used_url` or `expired_url` once it is spent, else what any message is refused for.
        """
        given = self._given.get(token)
        if given is None or self.workspace.clock() - given.at > RESPONSE_SECONDS:
            raise Refusal("expired_url")
        if given.uses >= RESPONSE_USES:
            raise Refusal("used_url")
        given.uses += 1
        return self.show(body, given.user, given.channel, given.message)

    def show(self, body: Json, user: str, channel: str, clicked: Message | None = None) -> Message | None:
        """Make a message of an answer, by its `response_type`, `replace_original` and `delete_original`."""
        if body.get("response_type", "ephemeral") not in ("ephemeral", "in_channel"):
            raise Refusal("invalid_arguments", ["response_type must be ephemeral or in_channel"])
        if body.get("delete_original") and clicked:
            self._drop(clicked)
            return None
        text, blocks = check_message(body.get("text"), body.get("blocks"))
        thread_ts = body.get("thread_ts")
        if thread_ts is not None and not isinstance(thread_ts, str):
            raise Refusal("invalid_arguments", ["thread_ts must be a string"])
        blocks = self.workspace.with_ids(blocks)
        if body.get("replace_original") and clicked:
            if clicked.only_for is None:
                changed = self.workspace.change(clicked, text=text, blocks=blocks)
                self.events.changed(clicked, changed)
                return changed
            self._drop(clicked)
        ephemeral = body.get("response_type", "ephemeral") == "ephemeral"
        message = Message(
            channel=channel,
            ts=self.workspace.next_ts(),
            user=self.events.app.user_id,
            bot_id=self.events.app.bot_id,
            text=text,
            blocks=blocks,
            thread_ts=thread_ts or (clicked.thread_ts if clicked else None),
            only_for=user if ephemeral else None,
        )
        if ephemeral:
            return self.workspace.add_ephemeral(message)
        self.workspace.add(message)
        self.events.posted(message)
        return message

    def _drop(self, message: Message) -> None:
        if message.only_for is None:
            self.events.remove(message)
        elif message in self.workspace.ephemerals:
            self.workspace.ephemerals.remove(message)
            self.workspace.changed()
