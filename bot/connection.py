"""Socket Mode's connection, and what slack_sdk does not do by itself to get it back."""

import asyncio
import logging
from typing import Protocol

log = logging.getLogger(__name__)

# How often the other side is asked whether it is there. A connection that has gone without a word is noticed
# within two of these, and there is a new one within one more.
PING_SECONDS = 5.0

# slack_sdk tries the address that it was given until it can connect. It is good for one use and for 30 s, so
# that an address which failed once may fail for ever: without a connection for this long it gets a new one.
LOST_SECONDS = 30.0


class Connection(Protocol):
    """Socket Mode's client, with the types that slack_sdk leaves out."""

    wss_uri: str | None

    async def connect(self) -> None: ...
    async def close(self) -> None: ...
    async def is_connected(self) -> bool: ...


async def stay_connected(connection: Connection) -> None:
    """Make slack_sdk ask for a new address when it cannot connect to the one it has; until cancelled."""
    loop = asyncio.get_running_loop()
    seen = loop.time()
    while True:
        await asyncio.sleep(LOST_SECONDS / 10)
        if await connection.is_connected():
            seen = loop.time()
        elif loop.time() - seen > LOST_SECONDS:
            log.warning("no connection to Slack for %.0f s: a new address is asked for", loop.time() - seen)
            connection.wss_uri = None
            seen = loop.time()
