"""Goes before a Python process by PYTHONPATH: no connection and no lookup of a name but on this machine.

Each that is tried is refused, and written as a line of JSON to the file that COPYDESK_TEST_EGRESS names, so
that one whose failure the process swallows is seen too. Audit hooks cannot be taken away, and hear sockets
whatever library opens them from Python. What C code opens is not heard here: see `tests.egress.alone`.
"""

import ipaddress
import json
import os
import socket
import sys
from typing import Any

LOG = "COPYDESK_TEST_EGRESS"
_SENDS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _SENDS:
        address = arguments[1]
        if not isinstance(address, tuple) or len(address) < 2:  # a path, or where it was connected to before
            return
        host, to = address[0], f"{address[0]}:{address[1]}"
    elif event in _LOOKUPS:
        host = to = arguments[0]
        if _literal(host) is not None:
            return  # nobody is asked for that
    elif event == "socket.getnameinfo":
        host, to = arguments[0][0], f"the name of {arguments[0][0]}"
    else:
        return
    if _is_here(host):
        return
    tried = {"what": event, "to": to.decode() if isinstance(to, bytes) else str(to), "by": " ".join(sys.argv)}
    log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(log, json.dumps(tried).encode() + b"\n")
    finally:
        os.close(log)
    raise PermissionError(f"refused by the test: {event} {to}")


def _is_here(host: Any) -> bool:
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    literal = _literal(host)
    # To no address at all is to this machine.
    return literal is not None and (literal.is_loopback or literal.is_unspecified)


def _literal(host: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host)
    except (ValueError, AttributeError):
        return None


def _refuse_names() -> None:
    """A socket that is given a name has it looked up before any hook hears of it."""
    for method in ("connect", "connect_ex", "sendto"):
        original = getattr(socket.socket, method)

        def checked(self: socket.socket, *arguments: Any, _original: Any = original) -> Any:
            _refuse("socket.connect", (self, arguments[-1]))
            return _original(self, *arguments)

        setattr(socket.socket, method, checked)


if LOG in os.environ:
    sys.addaudithook(_refuse)
    _refuse_names()
