"""What Slack sends and answers: messages, people, channels, files and views as JSON, and its payloads.

Keys are those of real payloads; values that this workspace does not have are left out, as Slack often does.
"""

import mimetypes
import re
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from bot.local_slack.app import InstalledApp
from bot.local_slack.workspace import Channel, File, Json, Member, Message, Usergroup, View, Workspace

MENTION = re.compile(r"(<@[UW][A-Z0-9]+>)")
# An address ends before white space, closing punctuation and everything from the CJK blocks on.
ADDRESS = re.compile(r"(https?://[^\s<>\u2e80-\uffef]*[^\s<>\u2e80-\uffef.,;:!?'\")\]}])")
CHANNEL_TYPES = {"public": "channel", "private": "group", "im": "im", "mpim": "mpim"}


def entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape(text: str) -> str:
    """What was typed after a command, as Slack passes it on: entities, and mentions of people kept live."""
    return "".join(part if MENTION.fullmatch(part) else entities(part) for part in MENTION.split(text))


def typed(text: str) -> str:
    """A typed message as Slack stores it: as `escape`, and addresses become `<https://…>`."""
    return "".join(
        f"<{entities(part)}>" if ADDRESS.fullmatch(part) else escape(part) for part in ADDRESS.split(text)
    )


def typed_blocks(text: str, block_id: str) -> tuple[Json, ...]:
    """The rich_text block that Slack's composer makes of a typed message; its text is not escaped."""
    elements: list[Json] = []
    for part in (inner for outer in ADDRESS.split(text) for inner in MENTION.split(outer) if inner):
        if MENTION.fullmatch(part):
            elements.append({"type": "user", "user_id": part[2:-1]})
        elif ADDRESS.fullmatch(part):
            elements.append({"type": "link", "url": part})
        else:
            elements.append({"type": "text", "text": part})
    section = {"type": "rich_text_section", "elements": elements}
    return ({"type": "rich_text", "block_id": block_id, "elements": [section]},)


def message_json(
    workspace: Workspace, app: InstalledApp, message: Message, *, metadata: bool = False
) -> Json:
    """A message as conversations.history, events and clicks show it."""
    member = workspace.members[message.user]
    json: Json = {"type": "message", "user": message.user, "text": message.text, "ts": message.ts}
    json["team"] = member.team
    if message.subtype and message.subtype != "file_share":
        json["subtype"] = message.subtype
    if message.bot_id:
        json |= {"bot_id": message.bot_id, "app_id": app.app_id, "bot_profile": bot_profile(workspace, app)}
    if message.username:
        json["username"] = message.username
    if message.blocks:
        json["blocks"] = list(message.blocks)
    if message.metadata and metadata:
        json["metadata"] = message.metadata
    if message.edited_ts:
        json["edited"] = {"user": message.edited_by, "ts": message.edited_ts}
    if message.files:
        json |= {"files": [file_json(workspace, workspace.files[f]) for f in message.files], "upload": False}
    if message.reactions:
        json["reactions"] = [
            {"name": name, "users": users, "count": len(users)} for name, users in reactions(message).items()
        ]
    if message.is_reply:
        json["thread_ts"] = message.thread_ts
        if parent := workspace.message(message.channel, message.thread_ts or ""):
            json["parent_user_id"] = parent.user
    elif not message.only_for and (replies := workspace.replies(message)):
        users = list(dict.fromkeys(reply.user for reply in replies))
        json |= {
            "thread_ts": message.ts,
            "reply_count": len(replies),
            "reply_users_count": len(users),
            "latest_reply": replies[-1].ts,
            "reply_users": users,
            "is_locked": False,
            "subscribed": False,
        }
    return json


def reactions(message: Message) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = {}
    for name, user in message.reactions:
        by_name.setdefault(name, []).append(user)
    return by_name


def bot_profile(workspace: Workspace, app: InstalledApp) -> Json:
    return {
        "id": app.bot_id,
        "app_id": app.app_id,
        "name": app.name,
        "deleted": False,
        "updated": 0,
        "icons": {},
        "team_id": workspace.team,
    }


def file_json(workspace: Workspace, file: File) -> Json:
    shares: dict[str, dict[str, list[Json]]] = {}
    for channel, ts, thread_ts in file.shares:
        public = "public" if workspace.channels[channel].kind == "public" else "private"
        share: Json = {"ts": ts, "channel_name": workspace.channels[channel].name, "team_id": workspace.team}
        if thread_ts:
            share["thread_ts"] = thread_ts
        shares.setdefault(public, {}).setdefault(channel, []).append(share)
    url = f"{workspace.origin}/files-pri/{workspace.team}-{file.id}"
    suffix = PurePath(file.name).suffix.lstrip(".").lower()
    filetype = {"md": "markdown", "txt": "text"}.get(suffix, suffix or "binary")
    of_kind = {
        kind: list(dict.fromkeys(c for c, _, _ in file.shares if workspace.channels[c].kind in kinds))
        for kind, kinds in (("channels", ("public",)), ("groups", ("private", "mpim")), ("ims", ("im",)))
    }
    where: Json = {
        "mode": "hosted",
        "is_external": False,
        "url_private": f"{url}/{quote(file.name)}",
        "url_private_download": f"{url}/download/{quote(file.name)}",
    }
    if file.external_url is not None:
        where = {"mode": "external", "is_external": True, "url_private": file.external_url}
    return {
        "id": file.id,
        "name": file.name,
        "title": file.title,
        "mimetype": mimetypes.guess_type(file.name)[0] or "application/octet-stream",
        "filetype": filetype,
        "pretty_type": filetype.title(),
        "user": file.user,
        "user_team": workspace.members[file.user].team,
        "size": file.size,
        "is_public": "public" in shares,
        **where,
        "permalink": f"https://{workspace.domain}.slack.com/files/{file.user}/{file.id}/{file.name}",
        "shares": shares,
        "file_access": "visible",
        **of_kind,
    }


def user_json(workspace: Workspace, member: Member) -> Json:
    return {
        "id": member.id,
        "team_id": member.team,
        "name": member.name.lower().replace(" ", "."),
        "deleted": member.deleted,
        "real_name": member.name,
        "tz": member.tz,
        "locale": member.locale,
        "profile": {
            "real_name": member.name,
            "display_name": member.name,
            "real_name_normalized": member.name,
            "display_name_normalized": member.name,
            "team": member.team,
        },
        "is_admin": member.is_admin,
        "is_owner": False,
        "is_restricted": member.is_restricted,
        "is_ultra_restricted": member.is_ultra_restricted,
        "is_bot": member.is_bot,
        "is_app_user": False,
        "updated": 0,
    } | ({"is_stranger": True} if member.is_stranger else {})


def channel_json(workspace: Workspace, app: InstalledApp, channel: Channel) -> Json:
    if channel.kind == "im":
        other = next((m for m in channel.members if m != app.user_id), app.user_id)
        return {"id": channel.id, "is_im": True, "user": other, "is_archived": False, "created": 0}
    return {
        "id": channel.id,
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": channel.kind == "public",
        "is_group": channel.kind == "private",
        "is_im": False,
        "is_mpim": channel.kind == "mpim",
        "is_private": channel.kind != "public",
        "is_archived": channel.is_archived,
        "is_member": app.user_id in channel.members,
        "is_general": False,
        "is_read_only": channel.is_read_only,
        "is_ext_shared": any(workspace.members[m].team != workspace.team for m in channel.members),
        "context_team_id": workspace.team,
        "created": 0,
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def named_in_payloads(workspace: Workspace, app: InstalledApp, channel: Channel) -> str:
    """What interactive payloads call a channel."""
    return str(channel_json(workspace, app, channel).get("name", "directmessage"))


def usergroup_json(workspace: Workspace, group: Usergroup, *, users: bool) -> Json:
    json: Json = {
        "id": group.id,
        "team_id": workspace.team,
        "is_usergroup": True,
        "name": group.handle,
        "handle": group.handle,
        "description": "",
        "date_delete": 0,
        "user_count": str(len(group.members)),
    }
    return json | ({"users": list(group.members)} if users else {})


def view_json(workspace: Workspace, app: InstalledApp, view: View, values: Json | None = None) -> Json:
    """A view with what Slack adds; `values` is its state by block and action."""
    return {
        **view.payload,
        "id": view.id,
        "team_id": workspace.team,
        "private_metadata": view.payload.get("private_metadata", ""),
        "callback_id": view.payload.get("callback_id", ""),
        "external_id": view.payload.get("external_id", ""),
        "clear_on_close": view.payload.get("clear_on_close", False),
        "notify_on_close": view.payload.get("notify_on_close", False),
        "submit": view.payload.get("submit"),
        "close": view.payload.get("close"),
        "state": {"values": values or {}},
        "hash": view.hash,
        "root_view_id": view.root_id,
        "previous_view_id": view.previous_id,
        "app_id": app.app_id,
        "app_installed_team_id": workspace.team,
        "bot_id": app.bot_id,
    }


def event_callback(workspace: Workspace, app: InstalledApp, event: Json, event_id: str) -> Json:
    """The payload of an events_api envelope."""
    return {
        "token": app.verification_token,
        "team_id": workspace.team,
        "context_team_id": workspace.team,
        "context_enterprise_id": None,
        "api_app_id": app.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(workspace.clock()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": workspace.team,
                "user_id": app.user_id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
        "event_context": f"4-{event_id}",
    }


def command_payload(
    workspace: Workspace, app: InstalledApp, member: Member, channel: Channel, command: str, text: str
) -> Json:
    """The payload of a slash_commands envelope, without its trigger_id and response_url."""
    return {
        "token": app.verification_token,
        "team_id": workspace.team,
        "team_domain": workspace.domain,
        "channel_id": channel.id,
        "channel_name": {"im": "directmessage", "mpim": "mpdm", "private": "privategroup"}.get(
            channel.kind, channel.name
        ),
        "user_id": member.id,
        "user_name": member.name.lower().replace(" ", "."),
        "command": command,
        "text": text,
        "api_app_id": app.app_id,
        "is_enterprise_install": "false",
    }


def interaction(workspace: Workspace, app: InstalledApp, member: Member, kind: str) -> Json:
    """What every interactive payload carries."""
    name = member.name.lower().replace(" ", ".")
    return {
        "type": kind,
        "user": {"id": member.id, "username": name, "name": name, "team_id": member.team},
        "api_app_id": app.app_id,
        "token": app.verification_token,
        "team": {"id": workspace.team, "domain": workspace.domain},
        "enterprise": None,
        "is_enterprise_install": False,
    }


def message_event(workspace: Workspace, app: InstalledApp, message: Message) -> Json:
    """The `message` event of a new message."""
    channel = workspace.channels[message.channel]
    event: dict[str, Any] = message_json(workspace, app, message, metadata=True)
    if message.subtype == "file_share":
        event["subtype"] = "file_share"
    if message.subtype == "thread_broadcast" and (
        root := workspace.message(message.channel, message.thread_ts or "")
    ):
        event["root"] = message_json(workspace, app, root)
    if not message.bot_id and message.subtype in (None, "thread_broadcast"):
        event["client_msg_id"] = f"local-{message.channel}-{message.ts}"
    if (team := workspace.members[message.user].team) != workspace.team:
        event |= {"user_team": team, "source_team": team}
    return event | {
        "channel": channel.id,
        "event_ts": message.ts,
        "channel_type": CHANNEL_TYPES[channel.kind],
    }
