"""files.*: a ticket, an upload, a share; and files read back."""

import asyncio
from dataclasses import replace

from bot.local_slack.limits import Refusal, check_blocks
from bot.local_slack.methods import Kind, Method, Parts, own_channel
from bot.local_slack.payloads import file_json
from bot.local_slack.workspace import Channel, File, Json, Message

LARGEST_FILE = 1_073_741_824


def get_upload_url(parts: Parts, a: Json) -> Json:
    if not a["filename"].strip():
        raise Refusal("invalid_arguments", ["filename is empty [json-pointer:/filename]"])
    if a["length"] <= 0:
        raise Refusal("invalid_arguments", ["length must be above 0 [json-pointer:/length]"])
    if a["length"] > LARGEST_FILE:
        raise Refusal("file_upload_size_restricted")
    if len(a.get("alt_txt") or "") > 1000:
        raise Refusal("alt_txt_too_large")
    file = File(parts.workspace.next_id("F"), a["filename"], a["filename"], parts.app.user_id, a["length"])
    parts.workspace.files[file.id] = file
    return {"upload_url": f"{parts.workspace.origin}/upload/v1/{file.id}", "file_id": file.id}


def receive_upload(parts: Parts, file_id: str, content: bytes) -> None:
    """The bytes of a file whose ticket was given. Refusal when they are not those announced."""
    file = parts.workspace.files.get(file_id)
    if file is None or file.completed:
        raise Refusal("file_not_found")
    if len(content) != file.size:
        raise Refusal("invalid_length", [f"{file.size} bytes were announced, {len(content)} came"])
    file.content = content


def complete_upload(parts: Parts, a: Json) -> Json:
    """The files are taken at once; their message appears a moment later, as in Slack."""
    if not isinstance(a["files"], list) or not a["files"]:
        raise Refusal("invalid_arguments", ["must provide an array [json-pointer:/files]"])
    if a.get("channel_id") and a.get("channels"):
        raise Refusal("invalid_arguments", ["give channel_id or channels, not both"])
    files = [uploaded_file(parts, item) for item in a["files"]]
    channels = [
        channel_to_share_in(parts, channel, a.get("thread_ts"))
        for channel in ([a["channel_id"]] if a.get("channel_id") else a.get("channels") or [])
    ]
    blocks = check_blocks(a["blocks"]) if a.get("blocks") and not a.get("initial_comment") else []
    for file, item in zip(files, a["files"], strict=True):
        file.completed, file.title = True, str(item.get("title") or file.name)
    for channel in channels:
        message = Message(
            channel=channel.id,
            ts="",  # known once it is shared
            user=parts.app.user_id,
            bot_id=parts.app.bot_id,
            text=a.get("initial_comment") or "",
            blocks=parts.workspace.with_ids(blocks),
            thread_ts=a.get("thread_ts") or None,
            subtype="file_share",
            files=tuple(file.id for file in files),
        )
        parts.events.in_background(share(parts, message))
    return {"files": [file_json(parts.workspace, file) for file in files]}


async def share(parts: Parts, message: Message) -> None:
    await asyncio.sleep(parts.share_seconds)
    parts.events.posted(parts.workspace.add(replace(message, ts=parts.workspace.next_ts())))


def uploaded_file(parts: Parts, item: object) -> File:
    file = parts.workspace.files.get(str(item.get("id"))) if isinstance(item, dict) else None
    if file is None or file.completed:
        raise Refusal("file_not_found")
    if file.user != parts.app.user_id:
        raise Refusal("access_denied")
    if file.content is None:
        raise Refusal("file_update_failed")
    return file


def channel_to_share_in(parts: Parts, channel_id: str, thread_ts: str | None) -> Channel:
    channel = own_channel(parts, channel_id)
    if channel.is_archived or channel.is_read_only:
        raise Refusal("posting_to_channel_denied")
    if thread_ts and parts.workspace.message(channel.id, thread_ts) is None:
        raise Refusal("thread_not_found")
    return channel


def visible_file(parts: Parts, file_id: str) -> File:
    """A file of the bot's own, or shared where the bot is."""
    file = parts.workspace.files.get(file_id)
    if file is None or not file.completed:
        raise Refusal("file_not_found")
    channels = [parts.workspace.channels[channel] for channel, _, _ in file.shares]
    if file.user != parts.app.user_id and not any(parts.app.user_id in c.members for c in channels):
        raise Refusal("file_not_found")
    return file


def info(parts: Parts, a: Json) -> Json:
    file = visible_file(parts, a["file"])
    return {
        "file": file_json(parts.workspace, file),
        "comments": [],
        "response_metadata": {"next_cursor": ""},
    }


def delete(parts: Parts, a: Json) -> Json:
    file = visible_file(parts, a["file"])
    if file.user != parts.app.user_id:
        raise Refusal("cant_delete_file")
    for channel, ts, _ in file.shares:
        if message := parts.workspace.message(channel, ts):
            parts.workspace.change(message, files=tuple(f for f in message.files if f != file.id))
    del parts.workspace.files[file.id]
    return {}


COMPLETE: dict[str, Kind] = {
    "files": "json",
    "channel_id": "text",
    "channels": "list",
    "thread_ts": "text",
    "initial_comment": "text",
    "blocks": "json",
}

FILE_METHODS = {
    "files.getUploadURLExternal": Method(
        get_upload_url,
        {"filename": "text", "length": "number", "snippet_type": "text", "alt_txt": "text"},
        ("filename", "length"),
        ("files:write",),
        tier=4,
        takes_json=False,
    ),
    "files.completeUploadExternal": Method(complete_upload, COMPLETE, ("files",), ("files:write",), tier=4),
    "files.info": Method(
        info,
        {"file": "text", "count": "number", "page": "number", "limit": "number", "cursor": "text"},
        ("file",),
        ("files:read",),
        tier=4,
        takes_json=False,
    ),
    "files.delete": Method(delete, {"file": "text"}, ("file",), ("files:write",)),
}
