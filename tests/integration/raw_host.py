"""A host that answers with bytes as they are, well-formed or not: for what no HTTP server would send."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = Callable[["RawHost", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class RawHost:
    """`requests` are the heads of what was asked, `taken` the bytes that the other side has taken."""

    answer: Answer
    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    taken: int = 0

    async def send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Raises ConnectionError once the other side has gone."""
        writer.write(data)
        await writer.drain()
        self.taken += len(data)


@asynccontextmanager
async def raw_host(answer: Answer) -> AsyncIterator[RawHost]:
    """Listens on a port of this machine while inside: one answer for each connection, which it then closes.

    Fails on leaving if the other side still listens to an answer.
    """
    host = RawHost(answer)
    under_way: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(length[1]) if length else 0)
            host.requests.append(head)
            await host.answer(host, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has had enough
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        under_way.add(task)
        task.add_done_callback(under_way.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        host.port = server.sockets[0].getsockname()[1]
        yield host
    finally:
        server.close()
        if under_way:
            _, still = await asyncio.wait(under_way, timeout=20)
            for task in still:
                task.cancel()
            assert not still, "an answer is still listened to"


def head(*headers: str, status: str = "200 OK") -> bytes:
    """The head of an answer of JSON."""
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: application/json", *headers, "", ""]).encode()


def body(data: bytes, *headers: str, status: str = "200 OK") -> Answer:
    """A whole answer of these bytes."""
    return just(head(f"Content-Length: {len(data)}", *headers, status=status) + data)


def just(data: bytes) -> Answer:
    """These bytes and nothing else."""

    async def answer(host: RawHost, writer: asyncio.StreamWriter) -> None:
        await host.send(writer, data)

    return answer


def without_end(beginning: bytes, piece: bytes, *, pause: float | None = None) -> Answer:
    """The beginning, then the piece again and again: as fast as it is taken, or with a pause in seconds."""

    async def answer(host: RawHost, writer: asyncio.StreamWriter) -> None:
        await host.send(writer, beginning)
        while True:
            await host.send(writer, piece)
            if pause is not None:
                await asyncio.sleep(pause)

    return answer


def in_turn(answers: Sequence[Answer]) -> Answer:
    """One after the other, the last again and again."""

    async def answer(host: RawHost, writer: asyncio.StreamWriter) -> None:
        await answers[min(len(host.requests), len(answers)) - 1](host, writer)

    return answer
