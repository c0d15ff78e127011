"""The bytes of files that people share in Slack."""

import logging
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

from bot.slack import TIMEOUT_SECONDS, LockedOut, NotNow, Refused, answered

log = logging.getLogger(__name__)

MOST_BYTES = 20_000_000  # as of a file on disk
_AT_ONCE = 1 << 16

# Where Slack keeps files. The token goes to no other host, whatever address a file names.
_SLACKS_HOSTS = (".slack.com", ".slack-gov.com")

# Slack's word for why it does not tell of a file -> what people read; all others: the bot cannot see it.
WHY_REFUSED = {"file_deleted": "file_gone", "missing_scope": "file_scope"}
_GONE_MODES = frozenset({"tombstone", "hidden_by_limit"})


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file as its message names it."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Content:
    """A file that was read."""

    name: str
    content: bytes
    permalink: str | None


class NotReadable(Exception):
    """A file that will not be read, however often it is tried.

    `key` is that of the sentence that says why, `params` are its parameters but `what`.
    """

    def __init__(self, key: str, **params: str | int) -> None:
        super().__init__(key)
        self.key, self.params = key, params


class SlackFiles:
    """Reads files with the bot's token, by whatever address Slack gives."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._api_host = URL(client.base_url).host

    async def read(self, file: SharedFile) -> Content:
        """Its bytes, at most 20 MB. Raises `NotReadable`, or `NotNow` for what may go better later."""
        try:
            about = (await answered(self._client.files_info(file=file.id)))["file"]
        except LockedOut:
            raise
        except Refused as refused:
            log.warning("%s cannot be looked up: %s", file.id, refused.code)
            raise NotReadable(WHY_REFUSED.get(refused.code, "file_not_seen")) from refused
        url = self._address(about)
        if about.get("size", 0) > MOST_BYTES:
            raise NotReadable("file_too_large", size=_megabytes(about["size"]), limit=_megabytes(MOST_BYTES))
        content = await self._download(url, about)
        return Content(str(about.get("name") or file.name), content, about.get("permalink"))

    def _address(self, about: dict[str, Any]) -> URL:
        if about.get("mode") in _GONE_MODES:
            raise NotReadable("file_gone")
        url = URL(str(about.get("url_private_download") or about.get("url_private") or ""))
        slacks = url.scheme == "https" and (url.host or "").endswith(_SLACKS_HOSTS)
        if about.get("is_external") or not (slacks or url.host == self._api_host):
            raise NotReadable("file_elsewhere")
        return url

    async def _download(self, url: URL, about: dict[str, Any]) -> bytes:
        headers = {"Authorization": f"Bearer {self._client.token}"}
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(
                    url,
                    headers=headers,
                    allow_redirects=False,  # Slack redirects to its login page, and the token stays here
                    proxy=self._client.proxy,
                    ssl=self._client.ssl or True,
                ) as answer,
            ):
                if answer.status == 429 or answer.status >= 500:
                    raise NotNow(f"the download was answered with {answer.status}")
                if answer.status != 200 or _is_login_page(answer.content_type, about):
                    log.warning("%s is not given out: %s %s", url, answer.status, answer.content_type)
                    raise NotReadable("file_not_seen")
                content = bytearray()
                async for piece in answer.content.iter_chunked(_AT_ONCE):
                    content += piece
                    if len(content) > MOST_BYTES:
                        limit = _megabytes(MOST_BYTES)
                        raise NotReadable("file_too_large", size=_megabytes(len(content)), limit=limit)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NotNow(f"the download broke off ({type(error).__name__})") from error
        return bytes(content)


def _is_login_page(content_type: str, about: dict[str, Any]) -> bool:
    """Whom Slack does not know gets 200 and a page to sign in, in place of the file."""
    return content_type == "text/html" and about.get("mimetype") != "text/html"


def _megabytes(size: int) -> int:
    return -(-size // 1_000_000)
