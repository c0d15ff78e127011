"""Who sees the steps: at the model host, at Slack, in the database."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from html import unescape
from typing import Any, get_args

import asyncpg

from bot.local_slack.server import LocalSlack
from bot.local_slack.web_api import METHODS, Call
from bot.texts import say_plain
from knowledge.article import Status
from knowledge.language import Language
from tests.chaos.databases import HELD, until
from tests.chaos.office import Memory
from tests.chaos.steps import Point, Watch
from tests.scripted_openai.completion import head
from tests.scripted_openai.replies import Drop, Reply
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

MODEL = "gpt-4.1-mini"
MANY = 1_000_000
UPLOAD = "upload"  # of a file's bytes: an address, no method
SHARE = "files.completeUploadExternal"


class Background:
    """Tasks that end with the run."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class ModelWatch:
    """The host answers as `memory` does. Knows which answers were kept, and which were asked for again."""

    def __init__(
        self, watch: Watch, memory: Memory, freeze: Callable[[], None], background: Background
    ) -> None:
        self._watch, self._memory, self._freeze, self._background = watch, memory, freeze, background
        self._names: dict[str, str] = {}  # by the id of the answer
        self._kept: set[str] = set()
        self.asked: list[str] = []
        self.resumed_after: float | None = None  # seconds from the kill until a model is asked again
        self.asked_though_kept: list[str] = []
        self.host = ScriptedOpenAI(self._answer, models=(MODEL,))

    def kept(self, answer_id: str) -> str | None:
        """The step whose answer is in the journal now; None for what no model gave."""
        name = self._names.get(answer_id)
        if name is not None:
            self._kept.add(name)
        return name

    def _answer(self, request: ChatRequest) -> Reply:
        name = self._memory.name(request)
        # What the dead process had sent may still come in; what it had asked comes again from the next one.
        if self._watch.killed.is_set() and self.resumed_after is None and name in self.asked:
            self.resumed_after = time.monotonic() - self._watch.killed_at
        self.asked.append(name)
        if name in self._kept:
            self.asked_though_kept.append(name)
        if self._watch.reach(Point(f"model: {name}", "asked, not answered")):
            return Drop()
        self._names[head(request, "")["id"]] = name
        answered = Point(f"model: {name}", "answered, not read")
        if self._watch.awaits(answered):
            self._freeze()
        self._background.start(self._until_answered(request, answered))
        return self._memory.answer(request)

    async def _until_answered(self, request: ChatRequest, point: Point) -> None:
        await self.host.wait_for(lambda: request.finished_at)
        self._watch.reach(point)


class SlackWatch:
    """Sees each call of the Web API come, and each that had its effect."""

    def __init__(
        self, slack: LocalSlack, watch: Watch, freeze: Callable[[], None], background: Background
    ) -> None:
        self._slack, self._watch, self._freeze, self._background = slack, watch, freeze, background
        self._last: dict[str, str] = {}  # the step that brought a message of the outbox, by its key
        for method in (*METHODS, UPLOAD):
            slack.fail(method, MANY, drop="before", when=partial(self._came, method))

    def sent(self, key: str) -> str:
        """The step after which the outbox marks this message as sent."""
        return self._last.get(SHARE if ":file:" in key else key, f"Slack: {_named(key)}")

    def _came(self, method: str, args: Mapping[str, Any]) -> bool:
        """Whether the call is dropped before it has any effect: the bot was killed for it."""
        key = _key(args)
        step = self._watch.name(f"Slack: {' '.join(filter(None, (method, _named(key), _state(args))))}")
        self._last[key or method] = step
        if self._watch.reach(Point(step, "sent, not applied")):
            return True
        if method == UPLOAD:
            return False
        applied = Point(step, "applied, not answered")
        if self._watch.awaits(applied):
            self._freeze()
        self._background.start(self._until_applied(self._slack.calls[-1], applied))
        return False

    async def _until_applied(self, call: Call, point: Point) -> None:
        await self._slack.wait_for(lambda: call.result is not None, 30)
        self._watch.reach(point)


class DatabaseWatch:
    """Sees what is committed, and holds the move that is not to be."""

    def __init__(self, dsn: str, watch: Watch, models: ModelWatch, slack: SlackWatch) -> None:
        self._dsn, self._watch, self._models, self._slack = dsn, watch, models, slack
        self.moves: list[str] = []
        self._connection: asyncpg.Connection
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def watching(self, background: Background) -> AsyncIterator[None]:
        self._connection = connection = await asyncpg.connect(self._dsn)
        try:
            await connection.add_listener("chaos", self._heard)
            if (move := _held_move(self._watch.target)) is not None:
                await connection.execute("insert into chaos_hold values ($1)", move)
                await connection.execute("select pg_advisory_lock($1)", HELD)
                background.start(self._until_held())
            yield
        finally:
            await connection.close()

    async def release(self, *, age: bool) -> None:
        """What a dead process had begun is rolled back; with `age` its worker has been silent for long."""
        connection = self._connection
        async with self._turn:
            await connection.execute("delete from chaos_hold")
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = $1"
                " and not granted",
                HELD,
            )
            await connection.execute("select pg_advisory_unlock_all()")
            # A number that was rolled back is not given again, and people would see another one.
            await connection.execute(
                "select setval(pg_get_serial_sequence('articles', 'id'), coalesce(max(id), 0) + 1, false)"
                " from articles"
            )
            if age:
                await connection.execute(
                    "update procrastinate_workers set last_heartbeat = last_heartbeat - interval '1 minute'"
                )

    async def caught_up(self) -> None:
        """All that is committed has been heard of: notifications come before a later answer."""
        async with self._turn:
            await self._connection.execute("select 1")

    async def _until_held(self) -> None:
        connection = await asyncpg.connect(self._dsn)
        try:
            await until(
                connection,
                "select exists (select from pg_locks where locktype = 'advisory' and objid = $1"
                " and not granted)",
                HELD,
            )
            assert self._watch.target is not None
            self._watch.reach(self._watch.target)
        finally:
            await connection.close()

    def _heard(self, *notification: object) -> None:
        told = json.loads(str(notification[-1]))
        match told["kind"]:
            case "kept":
                name = self._models.kept(told["id"] or "")
                step = f"search: {told['step']} {told['n']}" if name is None else f"model: {name}"
                self._watch.reach(Point(step, "kept in the journal"))
            case "sent":
                self._watch.reach(Point(self._slack.sent(told["key"]), "marked as sent"))
            case _:
                move = f"move {told['n']}: {told['from'] or 'requested'} → {told['to']}"
                self.moves.append(move)
                for moment in ("not committed", "committed"):
                    self._watch.reach(Point(move, moment))


def _held_move(target: Point | None) -> int | None:
    if target is None or target.moment != "not committed":
        return None
    found = re.match(r"move (\d+):", target.step)
    assert found is not None, target
    return int(found[1])


def _named(key: str) -> str:
    """An outbox key without its article, of which a run has one, and without the ts of what it answers."""
    return re.sub(r":[CDG]0LOCAL\d+:[\d.]+$", "", key.removeprefix("article:1:"))


def _key(args: Mapping[str, Any]) -> str:
    """The outbox key that a message carries."""
    metadata = args.get("metadata") or "{}"
    parsed = json.loads(metadata) if isinstance(metadata, str) else metadata
    return str(parsed.get("event_payload", {}).get("key", ""))


def _state(args: Mapping[str, Any]) -> str:
    """Where an article stands by its status message, in English: its edits are told apart by that."""
    if not _key(args).endswith(":status"):
        return ""
    text = unescape(str(args.get("text", "")))
    return next((f"“{state}”" for phrase, state in STATES.items() if f" {phrase}" in text), "")


def _states() -> dict[str, str]:
    """The phrases of the status line, each with its English one; longer ones first."""
    unnumbered = (Status.RESEARCHING, Status.PUBLISHED)
    numbered = set(Status) - {*unnumbered, Status.CANCELLED, Status.FAILED}
    params: list[tuple[Status, dict[str, int]]] = [
        *((status, {}) for status in unnumbered),
        *((status, {"version": version}) for status in numbered for version in range(1, 4)),
    ]
    states = {
        say_plain(language, f"line_{status}", **given): say_plain("en", f"line_{status}", **given)
        for language in get_args(Language)
        for status, given in params
    }
    return dict(sorted(states.items(), key=lambda pair: len(pair[0]), reverse=True))


STATES = _states()
