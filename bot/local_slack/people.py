"""The people's side of Slack: what somebody does, and what they see."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.local_slack.forms import CHOSEN, TYPED, filled_in, option_of, react
from bot.local_slack.limits import Refusal, elements
from bot.local_slack.methods import Parts
from bot.local_slack.payloads import (
    command_payload,
    escape,
    interaction,
    message_json,
    named_in_payloads,
    typed,
    typed_blocks,
    view_json,
)
from bot.local_slack.plain_text import block_text
from bot.local_slack.workspace import Channel, File, Json, Member, Message, NotPossible, View

Place = Channel | str


@dataclass
class CommandAnswer:
    """What came back from a slash command at once; answers through response_url come to `ephemerals`."""

    acked: bool
    seen: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(message.text for message in self.seen)


@dataclass
class Submission:
    """What became of a submitted form."""

    acked: bool
    errors: dict[str, str] = field(default_factory=dict)  # by block_id, shown beside the fields


class Person:
    """Somebody in the workspace. Methods raise NotPossible where Slack's client would not let them."""

    def __init__(self, parts: Parts, member: Member) -> None:
        self.parts, self.member = parts, member
        self.notices: list[str] = []  # what Slack itself tells them when the app does not answer

    @property
    def id(self) -> str:
        return self.member.id

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    @property
    def ephemerals(self) -> list[Message]:
        """What the app showed to this person alone, oldest first."""
        return [m for m in self.parts.workspace.ephemerals if m.only_for == self.id]

    @property
    def open_views(self) -> list[View]:
        """Modals on the screen, the topmost last."""
        return list(self.parts.workspace.modals.get(self.id, []))

    @property
    def home(self) -> View | None:
        return self.parts.workspace.homes.get(self.id)

    # typing

    async def say(
        self,
        channel: Place,
        text: str,
        thread_ts: str | None = None,
        *,
        broadcast: bool = False,
        subtype: Literal["me_message"] | None = None,
    ) -> Message:
        """Post a message, as typed; `broadcast` also shows a reply in the channel."""
        return self._post(channel, text, thread_ts, subtype="thread_broadcast" if broadcast else subtype)

    async def share_file(
        self, channel: Place, name: str, content: bytes, thread_ts: str | None = None, text: str = ""
    ) -> Message:
        """Upload a file and post it."""
        return await self.share_files(channel, {name: content}, thread_ts, text)

    async def share_files(
        self,
        channel: Place,
        files: Mapping[str, bytes | str],
        thread_ts: str | None = None,
        text: str = "",
    ) -> Message:
        """Post files in one message; one that is kept elsewhere has an address in place of its bytes."""
        workspace = self.parts.workspace
        shared = []
        for name, what in files.items():
            content, external_url = (b"", what) if isinstance(what, str) else (what, None)
            file = File(workspace.next_id("F"), name, name, self.id, len(content), content, completed=True)
            file.external_url = external_url
            workspace.files[file.id] = file
            shared.append(file.id)
        return self._post(channel, text, thread_ts, subtype="file_share", files=tuple(shared))

    def _post(
        self,
        channel: Place,
        text: str,
        thread_ts: str | None,
        subtype: str | None,
        files: tuple[str, ...] = (),
    ) -> Message:
        workspace, place = self.parts.workspace, self._place(channel)
        self._may_write(place)
        if not text.strip() and not files:
            raise NotPossible("An empty message cannot be sent.")
        parent = workspace.message(place.id, thread_ts) if thread_ts else None
        if thread_ts and (parent is None or parent.is_reply):
            raise NotPossible(f"No message {thread_ts} starts a thread here.")
        message = Message(
            channel=place.id,
            ts=workspace.next_ts(),
            user=self.id,
            text=typed(text),
            blocks=typed_blocks(text, f"b{workspace.next_number('block')}") if text else (),
            thread_ts=thread_ts,
            subtype=subtype,
            files=files,
        )
        workspace.add(message)
        self.parts.events.posted(message)
        return message

    async def edit(self, message: Message, text: str) -> Message:
        before = self._own(message)
        workspace = self.parts.workspace
        changed = workspace.change(
            before,
            text=typed(text),
            blocks=typed_blocks(text, f"b{workspace.next_number('block')}"),
            edited_by=self.id,
            edited_ts=workspace.next_ts(),
        )
        self.parts.events.changed(before, changed)
        return changed

    async def delete(self, message: Message) -> None:
        self.parts.events.remove(self._own(message))

    async def command(self, channel: Place, command: str, text: str = "") -> CommandAnswer:
        """Run a slash command in a channel (never in a thread: Slack does not let one)."""
        workspace, place = self.parts.workspace, self._place(channel)
        if place.kind != "public" and self.id not in place.members:
            raise NotPossible(f"{self.name} cannot see that channel.")
        if command not in self.parts.app.commands:
            raise NotPossible(f"{command} is not a valid command here.")
        before = len(self.ephemerals)
        payload = command_payload(
            workspace, self.parts.app, self.member, place, command, escape(text.strip())
        )
        payload |= {
            "response_url": self.parts.response_urls.give(self.id, place.id),
            "trigger_id": self.parts.triggers.give(self.id),
        }
        connected = bool(self.parts.socket.connections)
        ack = await self.parts.socket.send("slash_commands", payload, accepts_payload=True)
        if ack is None:
            error = "operation_timeout" if connected else "dispatch_failed"
            self._notice(f'{command} failed with the error "{error}"')
            return CommandAnswer(False, self.ephemerals[before:])
        shown: Message | None = None
        if ack.payload:
            try:
                shown = self.parts.response_urls.show(ack.payload, self.id, place.id)
            except Refusal as refusal:
                self.parts.socket.complaints.append(f"The answer to {command} was refused: {refusal}")
        seen = self.ephemerals[before:]
        return CommandAnswer(True, [*seen, shown] if shown and shown.only_for is None else seen)

    # pressing

    async def click(
        self, target: Message | View, button: str, *, value: str | None = None, stale: bool = False
    ) -> bool:
        """Press a button (or choose `value` in a menu), named by its action_id or by what it says.

        It must stand in the target as it is now; with `stale`, in the copy that was passed: a screen that
        has not been refreshed. Returns whether the app acknowledged it.
        """
        current = self._seen_now(target)
        block, element = self._find(target if stale else current, button)
        action: Json = {"type": element["type"], "block_id": block["block_id"]}
        action |= {key: element[key] for key in ("action_id", "text", "value", "style") if key in element}
        if value is not None:
            chosen = (
                {"value": value}
                if element["type"] in TYPED
                else {
                    CHOSEN.get(element["type"], "selected_option"): option_of(element, value, button)
                    if "options" in element or "option_groups" in element
                    else value
                }
            )
            action |= chosen
        action["action_ts"] = self.parts.workspace.next_ts()
        payload = interaction(self.parts.workspace, self.parts.app, self.member, "block_actions")
        payload |= {"trigger_id": self.parts.triggers.give(self.id), "actions": [action]}
        payload |= self._where(current)
        acked = await self.parts.socket.send("interactive", payload) is not None
        if not acked:
            self._notice(f"{button}: this app did not respond")
        return acked

    async def shortcut(self, message: Message, name: str) -> bool:
        """Choose an app's shortcut in the menu of a message; whether the app acknowledged it.

        Slack offers it wherever the person reads, also where the app is not.
        """
        workspace, app = self.parts.workspace, self.parts.app
        current = workspace.message(message.channel, message.ts)
        channel = workspace.channels[message.channel]
        if current is None or message.only_for is not None:
            raise NotPossible("That message has no menu: it is gone, or shown to one person alone.")
        if channel.kind != "public" and self.id not in channel.members:
            raise NotPossible(f"{self.name} cannot see that channel.")
        if name not in app.shortcuts:
            raise NotPossible(
                f"No app offers {name!r} here; there are: {', '.join(app.shortcuts) or 'none'}."
            )
        payload = interaction(workspace, app, self.member, "message_action")
        payload |= {
            "callback_id": app.shortcuts[name],
            "trigger_id": self.parts.triggers.give(self.id),
            "response_url": self.parts.response_urls.give(self.id, channel.id),
            "message_ts": current.ts,
            "message": message_json(workspace, app, current),
            "channel": {"id": channel.id, "name": named_in_payloads(workspace, app, channel)},
            "action_ts": workspace.next_ts(),
        }
        acked = await self.parts.socket.send("interactive", payload) is not None
        if not acked:
            self._notice(f"{name}: this app did not respond")
        return acked

    def _where(self, target: Message | View) -> Json:
        """The part of a click's payload that says what was clicked."""
        workspace, app = self.parts.workspace, self.parts.app
        if isinstance(target, View):
            shown = view_json(workspace, app, target)
            return {"container": {"type": "view", "view_id": target.id}, "view": shown}
        container: Json = {
            "type": "message",
            "message_ts": target.ts,
            "channel_id": target.channel,
            "is_ephemeral": target.only_for is not None,
        }
        if target.thread_ts:
            container["thread_ts"] = target.thread_ts
        channel = workspace.channels[target.channel]
        where: Json = {
            "container": container,
            "channel": {"id": channel.id, "name": named_in_payloads(workspace, app, channel)},
            "state": {"values": {}},
            "response_url": self.parts.response_urls.give(self.id, target.channel, target),
        }
        if target.only_for is None:
            where["message"] = message_json(workspace, app, target)
        return where

    def _seen_now(self, target: Message | View) -> Message | View:
        if isinstance(target, View):
            shown: list[View] = [*self.open_views, *([self.home] if self.home else [])]
            found: Message | View | None = next((v for v in shown if v.id == target.id), None)
        elif target.only_for is not None:
            found = next((m for m in self.ephemerals if m.ts == target.ts), None)
        else:
            found = self.parts.workspace.message(target.channel, target.ts)
            if self.id not in self.parts.workspace.channels[target.channel].members:
                raise NotPossible(f"{self.name} is not in the channel of that message.")
        if found is None:
            raise NotPossible("What was to be clicked is not on the screen any more.")
        return found

    def _find(self, target: Message | View, button: str) -> tuple[Json, Json]:
        blocks = target.payload["blocks"] if isinstance(target, View) else target.blocks
        standing = [(block, element) for block in blocks for element in elements(block)]
        found = [pair for pair in standing if button in names_of(pair[1])]
        if len(found) != 1:
            here = ", ".join(" = ".join(names_of(element)) for _, element in standing) or "none"
            raise NotPossible(f"{len(found) or 'No'} buttons are {button!r}; there are: {here}.")
        return found[0]

    # forms

    async def submit(self, view: View, values: Mapping[str, Any] | None = None) -> Submission:
        """Fill in a modal and submit it; see `filled_in` for how fields are named."""
        workspace, app = self.parts.workspace, self.parts.app
        view = self._top(view)
        state = filled_in(view, values or {})
        payload = interaction(workspace, app, self.member, "view_submission")
        payload |= {
            "trigger_id": self.parts.triggers.give(self.id),
            "view": view_json(workspace, app, view, state),
            "response_urls": [],
        }
        ack = await self.parts.socket.send("interactive", payload, accepts_payload=True)
        if ack is None:
            self._notice("We had some trouble connecting. Try again?")
            return Submission(False)
        try:
            return Submission(True, react(self.parts, view, ack.payload or {}))
        except Refusal as refusal:
            self.parts.socket.complaints.append(f"The answer to {view.title!r} was refused: {refusal}")
            self._notice("We had some trouble connecting. Try again?")
            return Submission(True)

    async def close(self, view: View) -> None:
        """Close a modal without submitting it; the app hears of it when it asked to."""
        view = self._top(view)
        self.parts.workspace.modals[self.id].remove(view)
        self.parts.workspace.changed()
        if view.payload.get("notify_on_close"):
            payload = interaction(self.parts.workspace, self.parts.app, self.member, "view_closed")
            payload |= {"view": view_json(self.parts.workspace, self.parts.app, view), "is_cleared": False}
            await self.parts.socket.send("interactive", payload)

    async def open_home(self) -> None:
        """Open the app's home tab."""
        workspace, app = self.parts.workspace, self.parts.app
        channel = workspace.direct_channel(self.id, app.user_id)
        event: Json = {"type": "app_home_opened", "user": self.id, "channel": channel.id, "tab": "home"}
        if self.home:
            event["view"] = view_json(workspace, app, self.home)
        if "app_home_opened" in app.events:
            self.parts.events.emit(event | {"event_ts": workspace.next_ts()})

    def _top(self, view: View) -> View:
        if not self.open_views or self.open_views[-1].id != view.id:
            raise NotPossible(f"The form {view.title!r} is not in front of {self.name}.")
        return self.open_views[-1]

    def _place(self, channel: Place) -> Channel:
        place = self.parts.workspace.channels.get(channel) if isinstance(channel, str) else channel
        if place is None:
            raise NotPossible(f"There is no channel {channel}.")
        return place

    def _may_write(self, channel: Channel) -> None:
        if self.id not in channel.members:
            raise NotPossible(f"{self.name} is not in #{channel.name}: add them to it first.")
        if channel.is_archived:
            raise NotPossible(f"#{channel.name} is archived.")
        if channel.is_read_only and not self.member.is_admin:
            raise NotPossible(f"Only admins post in #{channel.name}.")

    def _own(self, message: Message) -> Message:
        current = self.parts.workspace.message(message.channel, message.ts)
        if current is None or current.user != self.id:
            raise NotPossible(f"{self.name} has no such message.")
        return current

    def _notice(self, text: str) -> None:
        self.notices.append(text)
        self.parts.workspace.changed()


def names_of(element: Json) -> list[str]:
    """The names a person may give to something to press: its action_id, and what it says."""
    return list(named(element))


def named(element: Json) -> Iterator[str]:
    yield element["action_id"]
    if "text" in element:
        yield block_text(element["text"])
    elif "placeholder" in element:
        yield block_text(element["placeholder"])
