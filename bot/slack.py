"""Slack on the way out: what the bot posts, edits and looks up, over an unmodified `AsyncWebClient`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.blocks import Drawn
from bot.decisions import Person
from bot.messages import FileMessage
from bot.people import name_of, person_of
from bot.slack_codes import LATER, NOT_TO_BE_COMPLETED, PERHAPS_DONE, TOKEN_REFUSED

log = logging.getLogger(__name__)

EVENT_TYPE = "copydesk_message"  # of the metadata that carry the outbox key
PAGE = 200  # messages read at once when one is looked for

TIMEOUT_SECONDS = 30
RESPOND_SECONDS = 10

_NOT_SLACK = "what answers is not Slack's API"

# A file's share in its thread follows the upload, at once or in a second; it is looked for after these
# pauses, before going on without.
_SHARE_LOOKS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0)


class NotNow(Exception):
    """Slack could not take the call now; `retry_after` is in seconds, None when Slack did not say.

    `ambiguous`: the call may have been carried out all the same (the answer was lost).
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, ambiguous: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.ambiguous = ambiguous


class Refused(Exception):
    """Slack will not take this call, however often it is made; `code` is Slack's own word for it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class LockedOut(Refused):
    """Slack refuses the bot's token: whatever is called."""


@dataclass(frozen=True, slots=True)
class Posted:
    ts: str | None  # None for a file whose share has not shown up in time
    permalink: str | None


def slack_client(token: str | None, *, base_url: str) -> AsyncWebClient:
    """A client without slack-sdk's own retries: they would send a message twice after a lost answer."""
    return AsyncWebClient(token=token, base_url=base_url, timeout=TIMEOUT_SECONDS, retry_handlers=[])


class SlackChannel:
    """The methods that the sender and the workflow use; errors are `NotNow` or `Refused`."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._team_id: str | None = None
        self._whoami: dict[str, Any] = {}

    async def whoami(self) -> str:
        """The bot's name and workspace, as `auth.test` says."""
        answer = await answered(self._client.auth_test())
        self._team_id, self._whoami = answer["team_id"], answer
        return f"@{answer['user']} in {answer['team']}"

    def identity(self) -> AuthorizeResult:
        """For Bolt, from what `whoami` has learnt: it would ask Slack again before its first ack."""
        return AuthorizeResult(
            enterprise_id=self._whoami.get("enterprise_id"),
            team_id=self._whoami["team_id"],
            bot_user_id=self._whoami["user_id"],
            bot_id=self._whoami.get("bot_id"),
            bot_token=self._client.token,
        )

    async def granted_scopes(self) -> frozenset[str]:
        """What the bot token may do: Slack says so in a header of every answer."""
        try:
            answer = await self._client.auth_test()
        except Exception as error:
            raise _translated(error) from error
        return frozenset(answer.headers.get("x-oauth-scopes", "").replace(" ", "").split(","))

    async def try_app_token(self, token: str) -> None:
        """Whether Socket Mode will take the token."""
        await answered(self._client.apps_connections_open(app_token=token))

    async def post(self, channel_id: str, thread_ts: str | None, drawn: Drawn, *, key: str) -> Posted:
        """A new message; its outbox key travels in the metadata."""
        answer = await answered(
            self._client.chat_postMessage(
                channel=channel_id,
                thread_ts=thread_ts,
                text=drawn.text,
                blocks=drawn.blocks,
                metadata=_metadata(key),
                unfurl_links=False,
                unfurl_media=False,
            )
        )
        return Posted(str(answer["ts"]), None)

    async def edit(self, channel_id: str, ts: str, drawn: Drawn, *, key: str) -> None:
        await answered(
            self._client.chat_update(
                channel=channel_id,
                ts=ts,
                text=drawn.text,
                blocks=drawn.blocks,
                metadata=_metadata(key),
            )
        )

    async def whisper(self, channel_id: str, user_id: str, thread_ts: str | None, drawn: Drawn) -> Posted:
        """A message that only one person sees."""
        answer = await answered(
            self._client.chat_postEphemeral(
                channel=channel_id,
                user=user_id,
                thread_ts=thread_ts,
                text=drawn.text,
                blocks=drawn.blocks or None,
            )
        )
        return Posted(str(answer["message_ts"]), None)

    async def direct_channel(self, user_id: str) -> str:
        """The direct channel with somebody; opening it again changes nothing."""
        answer = await answered(self._client.conversations_open(users=[user_id]))
        return str(answer["channel"]["id"])

    async def direct(self, user_id: str, text: str) -> None:
        """A direct message, for what has no channel and cannot wait in the outbox."""
        await answered(self._client.chat_postMessage(channel=user_id, text=text))

    async def respond(self, url: str, text: str, blocks: list[dict[str, Any]] | None = None) -> None:
        """Answer a command or a click to that person alone; Slack takes it for 30 minutes."""
        hook = AsyncWebhookClient(url, timeout=RESPOND_SECONDS, retry_handlers=[])
        try:
            answer = await hook.send(
                text=text, blocks=blocks, response_type="ephemeral", replace_original=False
            )
        except Exception as error:
            raise _translated(error) from error
        if answer.status_code != 200:
            log.warning("an answer was not taken: %s %s", answer.status_code, answer.body[:200])

    async def find(
        self, channel_id: str, thread_ts: str | None, *, key: str, after: str | None
    ) -> str | None:
        """The ts of the bot's message with this key: in a thread, or in the channel itself; None = not there.

        `after` is a ts that it is newer than.
        """
        if not self._whoami:
            await self.whoami()
        cursor = ""
        while True:
            asked: dict[str, Any] = {"channel": channel_id, "limit": PAGE, "include_all_metadata": True}
            if cursor:
                asked["cursor"] = cursor
            if after is not None:
                asked["oldest"] = after
            if thread_ts is None:
                answer = await answered(self._client.conversations_history(**asked))
            else:
                answer = await answered(self._client.conversations_replies(**asked, ts=thread_ts))
            for message in answer["messages"]:
                if message.get("user") == self._whoami["user_id"] and _key_of(message) == key:
                    return str(message["ts"])
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return None

    async def upload(
        self,
        channel_id: str,
        thread_ts: str,
        file: FileMessage,
        *,
        file_id: str | None,
        uploaded: Callable[[str], Awaitable[None]],
    ) -> Posted:
        """A file into a thread; comes back once its share is there, so that what follows stands below it.

        `uploaded(file_id)` is told before the file can appear. `file_id` is that of an earlier try, which was
        not shared: Slack shares an upload once, so that its completion, should it still be on its way, and
        this one do it once together.
        """
        if file_id is not None:
            try:
                return await self._completed(file_id, channel_id, thread_ts, file)
            except Refused as refused:
                if refused.code not in NOT_TO_BE_COMPLETED:
                    raise
            # Either it has been completed since, or Slack has dropped what was never completed.
            if (found := await self.upload_of(file_id, channel_id)) is not None:
                return found
        file_id = await self._uploaded(file)
        await uploaded(file_id)
        return await self._completed(file_id, channel_id, thread_ts, file)

    async def _completed(self, file_id: str, channel_id: str, thread_ts: str, file: FileMessage) -> Posted:
        answer = await answered(
            self._client.files_completeUploadExternal(
                files=[{"id": file_id, "title": file.title[:250]}],
                channel_id=channel_id,
                thread_ts=thread_ts,
            )
        )
        return Posted(await self._shared(file_id, channel_id), answer["files"][0].get("permalink"))

    async def upload_of(self, file_id: str, channel_id: str) -> Posted | None:
        """What became of an upload whose sharing was begun; None = Slack knows no such file.

        `ts` is None while the share, which follows the upload, has not shown up.
        """
        try:
            info = await answered(self._client.files_info(file=file_id))
        except Refused as refused:
            if refused.code in NOT_TO_BE_COMPLETED:
                return None
            raise
        return Posted(_share_ts(info["file"], channel_id), info["file"].get("permalink"))

    async def _uploaded(self, file: FileMessage) -> str:
        """The bytes in Slack, seen by nobody yet; what goes wrong here leaves nothing behind."""
        content = file.content.encode()
        ticket = await answered(
            self._client.files_getUploadURLExternal(filename=file.filename, length=len(content))
        )
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(
                    ticket["upload_url"], data=content, proxy=self._client.proxy, ssl=self._client.ssl or True
                ) as answer,
            ):
                status = answer.status
        except Exception as error:
            raise _translated(error) from error
        if status != 200:
            raise NotNow(f"the upload was answered with {status}")
        return str(ticket["file_id"])

    async def open_view(self, trigger_id: str, view: dict[str, Any]) -> None:
        """A modal for whoever clicked; a trigger lives 3 seconds."""
        await answered(self._client.views_open(trigger_id=trigger_id, view=view))

    async def person(self, user_id: str, *, groups: frozenset[str]) -> Person:
        """Who this is; see `person_of`."""
        user = (await answered(self._client.users_info(user=user_id, include_locale=True)))["user"]
        member_of = set()
        for group in groups:
            try:
                members = (await answered(self._client.usergroups_users_list(usergroup=group)))["users"]
            except Refused as refused:  # deleted, or no scope: nobody is in it
                log.warning("COPYDESK_APPROVERS names %s, but Slack says %s", group, refused.code)
                continue
            if user_id in members:
                member_of.add(group)
        return person_of(user, groups=frozenset(member_of), team_id=self._team_id)

    async def name_of(self, user_id: str) -> str:
        """What somebody is called in Slack."""
        return name_of((await answered(self._client.users_info(user=user_id)))["user"])

    def where(self, channel_id: str, ts: str | None = None, thread_ts: str | None = None) -> str:
        """The address of a channel or of a message in it, also where the bot is not and cannot ask for it."""
        address = f"{self._whoami['url']}archives/{channel_id}"
        if ts is None:
            return address
        reply = "" if thread_ts in (None, ts) else f"?thread_ts={thread_ts}&cid={channel_id}"
        return f"{address}/p{ts.replace('.', '')}{reply}"

    async def why_not_post(self, channel_id: str) -> str | None:
        """The text key of what keeps the bot from posting in a channel, None if nothing does."""
        try:
            channel = (await answered(self._client.conversations_info(channel=channel_id)))["channel"]
        except Refused as refused:
            if refused.code in ("channel_not_found", "missing_scope"):
                return "bot_not_in_channel"
            raise
        if channel.get("is_archived"):
            return "channel_archived"
        if channel.get("is_im") or channel.get("is_mpim") or channel.get("is_member"):
            return None
        return "bot_not_in_channel"

    async def _shared(self, file_id: str, channel_id: str) -> str | None:
        """The message that shares a file, once it is there; the file itself is in Slack already."""
        for pause in _SHARE_LOOKS:
            await asyncio.sleep(pause)
            try:
                info = await answered(self._client.files_info(file=file_id))
            except (NotNow, Refused) as error:
                log.warning("no look at the share of %s: %s", file_id, error)
                return None
            if (ts := _share_ts(info["file"], channel_id)) is not None:
                return ts
        return None

    async def permalink(self, channel_id: str, ts: str) -> str | None:
        """A link is worth a call, not a failure: the message itself is in Slack already."""
        try:
            answer = await answered(self._client.chat_getPermalink(channel=channel_id, message_ts=ts))
        except (NotNow, Refused) as error:
            log.warning("no permalink for %s: %s", ts, error)
            return None
        return str(answer["permalink"])


def _metadata(key: str) -> dict[str, Any]:
    return {"event_type": EVENT_TYPE, "event_payload": {"key": key}}


def _key_of(message: dict[str, Any]) -> str | None:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != EVENT_TYPE:
        return None
    key: str | None = metadata.get("event_payload", {}).get("key")
    return key


async def answered(call: Awaitable[AsyncSlackResponse]) -> dict[str, Any]:
    """What Slack answers a call of the Web API; raises `NotNow` or `Refused`."""
    try:
        answer = await call
    except Exception as error:
        raise _translated(error) from error
    assert isinstance(answer.data, dict)
    return answer.data


def _share_ts(file: dict[str, Any], channel_id: str) -> str | None:
    for kind in ("public", "private"):
        shares = file.get("shares", {}).get(kind, {}).get(channel_id, [])
        if shares:
            return str(shares[0]["ts"])
    return None


def _translated(error: Exception) -> NotNow | Refused | Exception:
    """slack-sdk's and aiohttp's errors as the two that matter; anything else is a fault and stays so."""
    # Not Slack's words: a proxy's page, say. An AttributeError is slack-sdk's at an answer that is no object.
    if isinstance(error, AttributeError) or (
        isinstance(error, SlackApiError) and not isinstance(error.response, AsyncSlackResponse)
    ):
        return NotNow(_NOT_SLACK, ambiguous=True)
    if isinstance(error, SlackApiError):
        data, headers = error.response.data, error.response.headers
        status, said = error.response.status_code, data.get("error") if isinstance(data, dict) else None
        code = str(said or f"http_{status}")
        if status == 429 or status >= 500 or code in LATER:
            retry_after = headers.get("Retry-After") if headers else None
            return NotNow(
                code,
                retry_after=float(retry_after) if retry_after else None,
                ambiguous=status >= 500 or code in PERHAPS_DONE,
            )
        if code in TOKEN_REFUSED:
            return LockedOut(code)
        return Refused(code) if said else NotNow(_NOT_SLACK, ambiguous=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return NotNow("Slack cannot be reached")
    if isinstance(error, TimeoutError | aiohttp.ClientError):
        return NotNow(type(error).__name__, ambiguous=True)
    return error
