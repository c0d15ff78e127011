"""The bot as a process of its own: started, frozen, killed, asked to stop."""

import asyncio
import contextlib
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from bot.__main__ import main
from bot.local_slack.server import LocalSlack
from tests.scripted_openai.server import ScriptedOpenAI

# Of the caller's environment the bot sees these alone: no keys, no settings, no proxy.
KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL")
LOG_LINES = 40
STOP_SECONDS = 40.0  # twice what a worker gives its legs on SIGTERM


# A fork of a process that has read all modules and done nothing else: reading them takes 3 s each time.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["bot.cli", "bot.local_slack.server", "tests.scripted_openai.server"])


class BotProcess:
    """`python -m bot ARGUMENTS…` as a process; its log is a file."""

    def __init__(self, process: ForkServerProcess, log: Path) -> None:
        self._process = process
        self._log = log

    @classmethod
    async def start(cls, *arguments: str, settings: Mapping[str, str], log: Path) -> "BotProcess":
        """From the moment that it is there; whether it is ready shows in Slack or in the database."""
        process = _context.Process(target=_run, args=(arguments, dict(settings), log), daemon=True)
        await asyncio.to_thread(process.start)
        return cls(process, log)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def freeze(self) -> None:
        """It does not take one more step; what it has sent stays sent."""
        self._signal(signal.SIGSTOP)

    def kill(self) -> None:
        """SIGKILL: nothing of it is tidied up."""
        self._signal(signal.SIGKILL)

    async def ended(self) -> int:
        """Its exit code, once it has one; below 0 the signal that it died of."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        loop.add_reader(self._process.sentinel, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(self._process.sentinel)
        code = self._process.exitcode
        assert code is not None
        return code

    async def stop(self) -> int:
        """SIGTERM; its exit code, that of SIGKILL where it does not end."""
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                return await self.ended()
        except TimeoutError:
            self.kill()
            return await self.ended()

    def trouble(self) -> str:
        """What its log warns of, for the message of a failure."""
        lines = self._log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if " INFO " not in line][-LOG_LINES:])

    def _signal(self, number: signal.Signals) -> None:
        if self._process.exitcode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def _run(arguments: tuple[str, ...], settings: Mapping[str, str], log: Path) -> None:
    """In the new process: what `python -m bot` does, with nothing of the caller's but these settings."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update({**kept, **settings})
    os.chdir(log.parent)  # no `.env` of a developer
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, sys.stdout.fileno())
    os.dup2(output, sys.stderr.fileno())
    sys.exit(main(arguments))


def settings_of(dsn: str, folder: Path, slack: LocalSlack, host: ScriptedOpenAI) -> dict[str, str]:
    """What a bot is given: this database, this Slack, this model; search by words."""
    return {
        "DATABASE_URL": dsn,
        "COPYDESK_HOME": str(folder),
        "COPYDESK_EMBEDDING_MODEL": "none",
        "COPYDESK_MODEL": f"openai-chat:{host.models[0]}",
        "COPYDESK_STRUCTURED_OUTPUT": "native",
        "OPENAI_BASE_URL": host.base_url,
        "OPENAI_API_KEY": host.api_key,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.base_url,
        "LOG_LEVEL": "INFO",
    }


@contextmanager
def new_folder() -> Iterator[Path]:
    """Not below pytest's, which is closed to the user that PostgreSQL runs as."""
    folder = Path(tempfile.mkdtemp(prefix="copydesk-chaos-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
