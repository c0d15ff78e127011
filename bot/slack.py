"""Slack on the way out: what the bot posts, edits and looks up, over an unmodified `AsyncWebClient`."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.blocks import Drawn
from bot.decisions import Person
from bot.messages import FileMessage

log = logging.getLogger(__name__)

# Answers after which the same call may succeed later.
_LATER = frozenset({"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"})

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


@dataclass(frozen=True, slots=True)
class Posted:
    ts: str | None  # None for a file whose share has not shown up in time
    permalink: str | None


def slack_client(token: str | None, *, base_url: str) -> AsyncWebClient:
    """A client without slack-sdk's own retries: they would send a message twice after a lost answer."""
    return AsyncWebClient(token=token, base_url=base_url, timeout=30, retry_handlers=[])


class SlackChannel:
    """The methods that the sender and the workflow use; errors are `NotNow` or `Refused`."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._team_id: str | None = None
        self._whoami: dict[str, Any] = {}

    async def whoami(self) -> str:
        """The bot's name and workspace, as `auth.test` says."""
        answer = await _answer(self._client.auth_test())
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
        await _answer(self._client.apps_connections_open(app_token=token))

    async def post(self, channel_id: str, thread_ts: str | None, drawn: Drawn, *, key: str) -> Posted:
        """A new message; its outbox key travels in the metadata."""
        answer = await _answer(
            self._client.chat_postMessage(
                channel=channel_id,
                thread_ts=thread_ts,
                text=drawn.text,
                blocks=drawn.blocks,
                metadata={"event_type": "copydesk_message", "event_payload": {"key": key}},
                unfurl_links=False,
                unfurl_media=False,
            )
        )
        return Posted(str(answer["ts"]), None)

    async def edit(self, channel_id: str, ts: str, drawn: Drawn, *, key: str) -> None:
        await _answer(
            self._client.chat_update(
                channel=channel_id,
                ts=ts,
                text=drawn.text,
                blocks=drawn.blocks,
                metadata={"event_type": "copydesk_message", "event_payload": {"key": key}},
            )
        )

    async def whisper(self, channel_id: str, user_id: str, thread_ts: str | None, drawn: Drawn) -> Posted:
        """A message that only one person sees."""
        answer = await _answer(
            self._client.chat_postEphemeral(
                channel=channel_id,
                user=user_id,
                thread_ts=thread_ts,
                text=drawn.text,
                blocks=drawn.blocks or None,
            )
        )
        return Posted(str(answer["message_ts"]), None)

    async def direct(self, user_id: str, text: str) -> None:
        """A direct message, for what has no channel."""
        await _answer(self._client.chat_postMessage(channel=user_id, text=text))

    async def upload(self, channel_id: str, thread_ts: str, file: FileMessage) -> Posted:
        """A file into a thread; comes back once its share is there, so that what follows stands below it."""
        try:
            answer = await self._client.files_upload_v2(
                channel=channel_id,
                thread_ts=thread_ts,
                filename=file.filename,
                title=file.title[:250],
                content=file.content,
            )
        except Exception as error:
            raise _translated(error) from error
        uploaded = answer["files"][0]
        return Posted(await self._shared(uploaded["id"], channel_id), uploaded.get("permalink"))

    async def open_view(self, trigger_id: str, view: dict[str, Any]) -> None:
        """A modal for whoever clicked; a trigger lives 3 seconds."""
        await _answer(self._client.views_open(trigger_id=trigger_id, view=view))

    async def person(self, user_id: str, *, groups: frozenset[str]) -> Person:
        """Who this is; guests, bots, strangers and people whose account is gone are no full members."""
        user = (await _answer(self._client.users_info(user=user_id)))["user"]
        outside = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")
        member_of = set()
        for group in groups:
            try:
                members = (await _answer(self._client.usergroups_users_list(usergroup=group)))["users"]
            except Refused as refused:  # deleted, or no scope: nobody is in it
                log.warning("COPYDESK_APPROVERS names %s, but Slack says %s", group, refused.code)
                continue
            if user_id in members:
                member_of.add(group)
        # People of another workspace (Slack Connect) are strangers even where Slack does not flag them.
        ours = self._team_id is None or user.get("team_id", self._team_id) == self._team_id
        return Person(
            user_id,
            full_member=ours and not any(user.get(flag) for flag in outside),
            groups=frozenset(member_of),
        )

    async def why_not_post(self, channel_id: str) -> str | None:
        """The text key of what keeps the bot from posting in a channel, None if nothing does."""
        try:
            channel = (await _answer(self._client.conversations_info(channel=channel_id)))["channel"]
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
                info = await _answer(self._client.files_info(file=file_id))
            except (NotNow, Refused) as error:
                log.warning("no look at the share of %s: %s", file_id, error)
                return None
            if (ts := _share_ts(info["file"], channel_id)) is not None:
                return ts
        return None

    async def permalink(self, channel_id: str, ts: str) -> str | None:
        """A link is worth a call, not a failure: the message itself is in Slack already."""
        try:
            answer = await _answer(self._client.chat_getPermalink(channel=channel_id, message_ts=ts))
        except (NotNow, Refused) as error:
            log.warning("no permalink for %s: %s", ts, error)
            return None
        return str(answer["permalink"])


async def _answer(call: Awaitable[AsyncSlackResponse]) -> dict[str, Any]:
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
        if status == 429 or status >= 500 or code in _LATER:
            retry_after = headers.get("Retry-After") if headers else None
            return NotNow(
                code, retry_after=float(retry_after) if retry_after else None, ambiguous=status >= 500
            )
        return Refused(code) if said else NotNow(_NOT_SLACK, ambiguous=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return NotNow("Slack cannot be reached")
    if isinstance(error, TimeoutError | aiohttp.ClientError):
        return NotNow(type(error).__name__, ambiguous=True)
    return error
