"""Socket Mode: tickets, websockets, envelopes, and who acknowledged what in time."""

import asyncio
import json
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from bot.local_slack.app import InstalledApp
from bot.local_slack.workspace import Json, Workspace

MOST_CONNECTIONS = 10
PING_SECONDS = 10.0
CLOSE_SECONDS = 1.0  # how long to wait for the other side when closing


@dataclass
class Ack:
    """The app's answer to one envelope."""

    kind: str
    seconds: float
    payload: Json | None


@dataclass
class AckFailure:
    """An envelope that nobody acknowledged in time. `late_after` is set when its ack came after all."""

    kind: str
    payload: Json
    reason: str  # "timeout" or "no_connection"
    late_after: float | None = None


@dataclass
class Sent:
    kind: str
    payload: Json
    accepts_payload: bool
    at: float
    answer: asyncio.Future[Ack] = field(repr=False)
    failure: AckFailure | None = None


class SocketMode:
    """The app's open connections. Each envelope goes to one of them, in turn."""

    def __init__(self, workspace: Workspace, app: InstalledApp, ack_seconds: float) -> None:
        self.workspace, self.app, self.ack_seconds = workspace, app, ack_seconds
        self.connections: list[web.WebSocketResponse] = []
        self.ack_times: list[Ack] = []
        self.ack_failures: list[AckFailure] = []
        self.complaints: list[str] = []  # what Slack drops without a word, said aloud
        self._tickets: set[str] = set()
        self._sent: dict[str, Sent] = {}
        self._next = 0
        self._leaving: set[web.WebSocketResponse] = set()
        self._silent: set[web.WebSocketResponse] = set()
        self.links_to_refuse = 0  # the next so many, after their tickets are used up

    def ticket_url(self) -> str:
        """The address of one connection. It is good for one use."""
        ticket = uuid.uuid4().hex
        self._tickets.add(ticket)
        origin = self.workspace.origin.replace("http://", "ws://", 1)
        return f"{origin}/link/?ticket={ticket}&app_id={self.app.app_id}"

    async def link(self, request: web.Request) -> web.StreamResponse:
        """The websocket at /link: hello, then envelopes out and acks in, until either side closes."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=403, text="invalid ticket")
        self._tickets.discard(ticket)
        if self.links_to_refuse:
            self.links_to_refuse -= 1
            return web.Response(status=503)
        socket = web.WebSocketResponse(heartbeat=PING_SECONDS, timeout=CLOSE_SECONDS)
        await socket.prepare(request)
        if len(self.connections) >= MOST_CONNECTIONS:
            await socket.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            await socket.close()
            return socket
        self.connections.append(socket)
        try:
            await socket.send_json(
                {
                    "type": "hello",
                    "num_connections": len(self.connections),
                    "debug_info": {"host": "local", "build_number": 1, "approximate_connection_time": 18060},
                    "connection_info": {"app_id": self.app.app_id},
                }
            )
            self.workspace.changed()
            async for message in socket:
                if socket in self._silent:
                    await until_gone(request)
                    break
                if message.type is WSMsgType.TEXT:
                    self._answered(message.data)
        finally:
            self.connections.remove(socket)
            self._leaving.discard(socket)
            self._silent.discard(socket)
            self.workspace.changed()
        return socket

    def _answered(self, data: str) -> None:
        try:
            body = json.loads(data)
        except ValueError:
            body = None
        sent = self._sent.get(body.get("envelope_id", "")) if isinstance(body, dict) else None
        if sent is None:
            self.complaints.append(f"An answer to no envelope: {data[:200]}")
            return
        payload = body.get("payload") or None
        if payload and not (sent.accepts_payload and isinstance(payload, dict)):
            self.complaints.append(f"An ack of {sent.kind} carried a payload, which Slack drops: {payload}")
            payload = None
        seconds = asyncio.get_running_loop().time() - sent.at
        if sent.failure is not None:
            sent.failure.late_after = seconds
            self.workspace.changed()
        elif not sent.answer.done():
            sent.answer.set_result(Ack(sent.kind, seconds, payload))

    async def send(
        self, kind: str, payload: Json, *, accepts_payload: bool = False, retry: tuple[int, str] | None = None
    ) -> Ack | None:
        """Send one envelope and wait for its ack; None when it did not come in time, or nobody is connected.

        `retry` is the number of this retry and its reason.
        """
        loop = asyncio.get_running_loop()
        if not self.connections:
            self._failed(AckFailure(kind, payload, "no_connection"))
            return None
        staying = [one for one in self.connections if one not in self._leaving] or self.connections
        socket = staying[self._next % len(staying)]
        self._next += 1
        envelope: dict[str, Any] = {
            "envelope_id": str(uuid.uuid4()),
            "payload": payload,
            "type": kind,
            "accepts_response_payload": accepts_payload,
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": retry[0] if retry else 0, "retry_reason": retry[1] if retry else ""}
        sent = Sent(kind, payload, accepts_payload, loop.time(), loop.create_future())
        self._sent[envelope["envelope_id"]] = sent
        try:
            await socket.send_json(envelope)
            async with asyncio.timeout(self.ack_seconds):
                ack = await sent.answer
        except (TimeoutError, ConnectionError):
            sent.failure = AckFailure(kind, payload, "timeout")
            self._failed(sent.failure)
            return None
        self.ack_times.append(ack)
        self.workspace.changed()
        return ack

    def _failed(self, failure: AckFailure) -> None:
        self.ack_failures.append(failure)
        self.workspace.changed()

    async def disconnect(self, reason: str) -> None:
        """Tell every connection to go: `warning` (soon), `refresh_requested` or `link_disabled` (now)."""
        for socket in list(self.connections):
            self._leaving.add(socket)
            await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "local"}})
            if reason == "link_disabled":
                await socket.close()

    def fall_silent(self) -> None:
        """Every connection is half-open from now on: nothing is read any more, and no ping answered."""
        self._silent.update(self.connections)

    async def close(self) -> None:
        for socket in list(self.connections):
            with suppress(ConnectionError):
                await socket.close()


async def until_gone(request: web.Request) -> None:
    """Until the other side has closed the connection."""
    while True:
        if request.transport is None or request.transport.is_closing():
            return
        await asyncio.sleep(0.05)
