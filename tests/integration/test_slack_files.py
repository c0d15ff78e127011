"""Files of Slack: read with the token where Slack keeps them, and the token goes nowhere else."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel
from bot.slack import LockedOut, NotNow, slack_client
from bot.slack_files import MOST_BYTES, NotReadable, SharedFile, SlackFiles

NAMES = {"en": "notes.md", "zh": "笔记.md", "ja": "メモ.md"}


class Desk:
    """A person who shares files, and the bot's way to read them."""

    def __init__(self, slack: LocalSlack) -> None:
        self.slack = slack
        self.ana = slack.add_person("Ana")
        self.channel: Channel = slack.add_channel("articles", [self.ana, slack.bot])
        self.files = SlackFiles(slack_client(slack.bot_token, base_url=slack.base_url))

    async def share(self, name: str, content: bytes | str) -> SharedFile:
        message = await self.ana.share_files(self.channel, {name: content})
        return SharedFile(message.files[0], name)

    async def why_not(self, file: SharedFile) -> str:
        with pytest.raises(NotReadable) as refused:
            await self.files.read(file)
        return refused.value.key


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with LocalSlack() as slack:
        yield Desk(slack)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_a_file_is_read_as_it_is(desk: Desk, name: str) -> None:
    content = f"# {name}\n".encode()
    read = await desk.files.read(await desk.share(name, content))
    assert (read.name, read.content) == (name, content)
    assert read.permalink is not None
    assert read.permalink.endswith(name)


async def test_a_page_that_was_uploaded_is_no_login_page(desk: Desk) -> None:
    assert (
        await desk.files.read(await desk.share("page.html", b"<h1>Salt</h1>"))
    ).content == b"<h1>Salt</h1>"


async def test_a_login_page_in_place_of_a_file_is_not_taken_for_it(desk: Desk) -> None:
    file = await desk.share("notes.md", b"# Salt")
    known = desk.slack.app.scopes
    answer = (await desk.files._client.files_info(file=file.id)).data
    desk.slack.app.scopes = tuple(scope for scope in known if scope != "files:read")
    assert await desk.why_not(file) == "file_scope"
    # As where the scope is granted, but the token is not one that may see this file.
    assert isinstance(answer, dict)
    with pytest.raises(NotReadable) as refused:
        await desk.files._download(desk.files._address(answer["file"]), answer["file"])
    assert refused.value.key == "file_not_seen"


@pytest.mark.parametrize(
    ("about", "key"),
    [
        ({"mode": "tombstone"}, "file_gone"),
        ({"mode": "hidden_by_limit", "url_private": "https://files.slack.com/x"}, "file_gone"),
        (
            {"mode": "external", "is_external": True, "url_private": "https://docs.example.com"},
            "file_elsewhere",
        ),
        ({"url_private_download": "https://files.slack.com.example.com/x"}, "file_elsewhere"),
        ({"url_private_download": "https://notslack.com/x"}, "file_elsewhere"),
        ({"url_private_download": "http://files.slack.com/x"}, "file_elsewhere"),
        ({}, "file_elsewhere"),
    ],
)
def test_the_token_goes_to_slacks_hosts_alone(about: dict[str, Any], key: str) -> None:
    files = SlackFiles(slack_client("xoxb-1", base_url="https://slack.com/api/"))
    with pytest.raises(NotReadable) as refused:
        files._address(about)
    assert refused.value.key == key
    for host in ("files.slack.com", "slack.com", "team.slack.com"):
        assert files._address({"url_private": f"https://{host}/files-pri/x"}).host == host


async def test_a_redirect_is_not_followed_with_the_token(desk: Desk) -> None:
    asked: list[str | None] = []

    async def elsewhere(request: web.Request) -> web.Response:
        asked.append(request.headers.get("Authorization"))
        if request.path == "/first":
            raise web.HTTPFound("/login")
        return web.Response(text="Sign in", content_type="text/html")

    app = web.Application()
    app.router.add_get("/{path:.*}", elsewhere)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/first"
        with pytest.raises(NotReadable) as refused:
            await desk.files._download(desk.files._address({"url_private": url}), {})
    finally:
        await runner.cleanup()
    assert refused.value.key == "file_not_seen"
    assert len(asked) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_go_better_later_is_said_so(desk: Desk, status: int) -> None:
    file = await desk.share("notes.md", b"# Salt")
    desk.slack.fail("download", status=status)
    with pytest.raises(NotNow):
        await desk.files.read(file)
    desk.slack.fail("files.info", status=429, retry_after=1)
    with pytest.raises(NotNow):
        await desk.files.read(file)
    assert (await desk.files.read(file)).content == b"# Salt"


async def test_a_file_that_says_it_is_small_and_is_not_is_not_read_to_its_end(desk: Desk) -> None:
    file = await desk.share("notes.txt", b"x" * (MOST_BYTES + 1))
    desk.slack.workspace.files[file.id].size = 10
    assert await desk.why_not(file) == "file_too_large"


async def test_a_token_that_slack_refuses_is_no_reason_of_the_file(desk: Desk) -> None:
    file = await desk.share("notes.md", b"# Salt")
    desk.slack.uninstall()
    with pytest.raises(LockedOut):
        await desk.files.read(file)
