"""chat.* and reactions.*: what the bot says, changes and takes back."""

from bot.local_slack.limits import LONGEST_UPDATE, SPLIT_AT, Refusal, check_message
from bot.local_slack.methods import (
    Kind,
    Method,
    Parts,
    message_in,
    need_scope,
    own_channel,
    visible_channel,
)
from bot.local_slack.payloads import message_json
from bot.local_slack.workspace import Channel, Json, Message

CUSTOM = ("username", "icon_emoji", "icon_url")


def channel_to_post_in(parts: Parts, a: Json) -> Channel:
    """Where a message may go: a channel the bot is in, or a person (their direct channel)."""
    target = a["channel"]
    if target in parts.workspace.members and target != parts.app.user_id:
        return parts.workspace.direct_channel(target, parts.app.user_id)
    channel = visible_channel(parts, target)
    if channel.is_archived:
        raise Refusal("is_archived")
    if parts.app.user_id not in channel.members and "chat:write.public" not in parts.app.scopes:
        raise Refusal("not_in_channel")
    if channel.is_read_only:
        raise Refusal("restricted_action_read_only_channel")
    return channel


def check_parent(parts: Parts, channel: Channel, thread_ts: str | None) -> None:
    """The parent of a reply must stand. A reply's own ts is refused; Slack only warns of it."""
    if not thread_ts:
        return
    parent = parts.workspace.message(channel.id, thread_ts)
    if parent is None:
        raise Refusal("thread_not_found")
    if parent.is_reply:
        raise Refusal("cannot_reply_to_message")


def check_sender(parts: Parts, a: Json) -> None:
    if any(a.get(name) for name in CUSTOM):
        need_scope(parts, "chat:write.customize")
    if a.get("attachments"):
        raise Refusal("invalid_arguments", ["this local Slack takes no attachments: use blocks"])
    if a.get("markdown_text") and (a.get("text") or a.get("blocks")):
        raise Refusal("markdown_text_conflict")


def content(a: Json, longest_text: int) -> tuple[str, tuple[Json, ...]]:
    if a.get("markdown_text"):
        markdown = {"type": "markdown", "text": a["markdown_text"]}
        _, blocks = check_message("", [markdown])
        return a["markdown_text"], blocks
    return check_message(
        a.get("text"), a.get("blocks"), metadata=a.get("metadata"), longest_text=longest_text
    )


def post_message(parts: Parts, a: Json) -> Json:
    channel = channel_to_post_in(parts, a)
    check_sender(parts, a)
    text, blocks = content(a, 40_000)
    check_parent(parts, channel, a.get("thread_ts"))
    broadcast = bool(a.get("thread_ts") and a.get("reply_broadcast"))
    # Slack splits a long text without blocks into several messages, through the middle of code fences.
    pieces = [text[i : i + SPLIT_AT] for i in range(0, len(text), SPLIT_AT)] if not blocks else [text]
    posted = [
        parts.workspace.add(
            Message(
                channel=channel.id,
                ts=parts.workspace.next_ts(),
                user=parts.app.user_id,
                bot_id=parts.app.bot_id,
                username=a.get("username"),
                text=piece,
                blocks=parts.workspace.with_ids(blocks),
                thread_ts=a.get("thread_ts") or None,
                subtype="thread_broadcast" if broadcast else None,
                metadata=a.get("metadata") or None,
            )
        )
        for piece in pieces
    ]
    for message in posted:
        parts.events.posted(message)
    return {
        "channel": channel.id,
        "ts": posted[0].ts,
        "message": message_json(parts.workspace, parts.app, posted[0], metadata=True),
    }


def post_ephemeral(parts: Parts, a: Json) -> Json:
    channel = own_channel(parts, a["channel"])
    if channel.is_archived:
        raise Refusal("is_archived")
    check_sender(parts, a)
    text, blocks = content(a, 40_000)
    if a["user"] not in parts.workspace.members or a["user"] not in channel.members:
        raise Refusal("user_not_in_channel")
    check_parent(parts, channel, a.get("thread_ts"))
    message = Message(
        channel=channel.id,
        ts=parts.workspace.next_ts(),
        user=parts.app.user_id,
        bot_id=parts.app.bot_id,
        text=text,
        blocks=parts.workspace.with_ids(blocks),
        thread_ts=a.get("thread_ts") or None,
        only_for=a["user"],
    )
    parts.workspace.add_ephemeral(message)
    return {"message_ts": message.ts}


def update(parts: Parts, a: Json) -> Json:
    """Fields that are left out keep their content, blocks too: so a stale button survives an update."""
    channel = visible_channel(parts, a["channel"])
    message = message_in(parts, channel, a["ts"])
    if message.user != parts.app.user_id:
        raise Refusal("cant_update_message")
    if channel.is_archived:
        raise Refusal("is_inactive")
    check_sender(parts, a)
    text, blocks = content(
        {**a, "text": a.get("text") or (message.text if "blocks" in a else None)}, LONGEST_UPDATE
    )
    changes: Json = {"text": text}
    if "blocks" in a or a.get("markdown_text"):
        changes["blocks"] = parts.workspace.with_ids(blocks)
    if "metadata" in a:
        changes["metadata"] = a["metadata"] or None
    changed = parts.workspace.change(
        message, **changes, edited_by=parts.app.user_id, edited_ts=parts.workspace.next_ts()
    )
    parts.events.changed(message, changed)
    return {
        "channel": channel.id,
        "ts": changed.ts,
        "text": changed.text,
        "message": message_json(parts.workspace, parts.app, changed, metadata=True),
    }


def delete(parts: Parts, a: Json) -> Json:
    channel = visible_channel(parts, a["channel"])
    message = message_in(parts, channel, a["ts"])
    if message.user != parts.app.user_id:
        raise Refusal("cant_delete_message")
    parts.events.remove(message)
    return {"channel": channel.id, "ts": message.ts}


def get_permalink(parts: Parts, a: Json) -> Json:
    channel = visible_channel(parts, a["channel"])
    message = message_in(parts, channel, a["message_ts"])
    return {"channel": channel.id, "permalink": permalink(parts, message)}


def permalink(parts: Parts, message: Message) -> str:
    archive = f"https://{parts.workspace.domain}.slack.com/archives/{message.channel}"
    link = f"{archive}/p{message.ts.replace('.', '')}"
    return f"{link}?thread_ts={message.thread_ts}&cid={message.channel}" if message.is_reply else link


def add_reaction(parts: Parts, a: Json) -> Json:
    message = message_in(parts, own_channel(parts, a["channel"]), a["timestamp"])
    reaction = (emoji(a), parts.app.user_id)
    if reaction in message.reactions:
        raise Refusal("already_reacted")
    parts.workspace.change(message, reactions=(*message.reactions, reaction))
    return {}


def remove_reaction(parts: Parts, a: Json) -> Json:
    message = message_in(parts, own_channel(parts, a["channel"]), a["timestamp"])
    reaction = (emoji(a), parts.app.user_id)
    if reaction not in message.reactions:
        raise Refusal("no_reaction")
    parts.workspace.change(message, reactions=tuple(r for r in message.reactions if r != reaction))
    return {}


def emoji(a: Json) -> str:
    name = str(a["name"])
    if not name or not all(c.isalnum() or c in "_+-':" for c in name) or name != name.lower():
        raise Refusal("invalid_name")
    return name


CONTENT: dict[str, Kind] = {
    "channel": "text",
    "text": "text",
    "blocks": "json",
    "attachments": "json",
    "markdown_text": "text",
    "parse": "text",
    "link_names": "flag",
    "as_user": "flag",
    "metadata": "json",
}
POST: dict[str, Kind] = {
    **CONTENT,
    "thread_ts": "text",
    "username": "text",
    "icon_emoji": "text",
    "icon_url": "text",
}
REACTION: dict[str, Kind] = {"channel": "text", "timestamp": "text", "name": "text"}

CHAT_METHODS = {
    "chat.postMessage": Method(
        post_message,
        {
            **POST,
            "mrkdwn": "flag",
            "reply_broadcast": "flag",
            "unfurl_links": "flag",
            "unfurl_media": "flag",
        },
        ("channel",),
        ("chat:write",),
        tier=5,
    ),
    "chat.postEphemeral": Method(
        post_ephemeral, {**POST, "user": "text"}, ("channel", "user"), ("chat:write",), tier=4
    ),
    "chat.update": Method(
        update,
        {**CONTENT, "ts": "text", "reply_broadcast": "flag", "file_ids": "list"},
        ("channel", "ts"),
        ("chat:write",),
    ),
    "chat.delete": Method(
        delete, {"channel": "text", "ts": "text", "as_user": "flag"}, ("channel", "ts"), ("chat:write",)
    ),
    "chat.getPermalink": Method(
        get_permalink,
        {"channel": "text", "message_ts": "text"},
        ("channel", "message_ts"),
        tier=5,
        takes_json=False,
    ),
    "reactions.add": Method(add_reaction, REACTION, ("channel", "timestamp", "name"), ("reactions:write",)),
    "reactions.remove": Method(
        remove_reaction, REACTION, ("channel", "timestamp", "name"), ("reactions:write",), tier=2
    ),
}
