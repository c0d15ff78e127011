"""Runs a command on a machine without a network: `python -m tests.egress.alone LOG COMMAND…` (Linux).

A network namespace of its own, in which only loopback is up, and a device to which the rest of the world is
routed. Nobody answers there: each packet that any process tries to send off the machine, of whatever library,
is written to LOG as a line of JSON, and so is each name that a resolver on this machine is asked for. Exits
with the command's code, or with 125 and a sentence where the system allows no such namespace.
"""

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

NOT_HERE = 125  # the exit code where there can be no namespace

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
# From linux/if.h, if_tun.h, sockios.h and route.h.
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_SIOCADDRT, _SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR = 0x890B, 0x8913, 0x8914, 0x8916
_SIOCGIFINDEX, _IFF_UP, _RTF_UP = 0x8933, 0x1, 0x1
_ICMPV6, _LONGEST = 58, 65_535
_TRANSPORTS = {1: "icmp", 6: "tcp", 17: "udp"}
_DEVICE = b"world"
_OUR_ADDRESS = "198.18.0.1"  # of the block for tests of networks (RFC 2544)


class NotHere(Exception):
    """The system allows no namespace; the sentence is its reason."""


@dataclass(frozen=True)
class World:
    """Where all goes that leaves the machine; None = no such device may be made here."""

    device: int | None
    resolvers: list[socket.socket]  # on loopback, as the system's settings name them

    def tried(self) -> Iterator[dict[str, str]]:
        """What came so far."""
        while self.device is not None:
            try:
                packet = os.read(self.device, _LONGEST)
            except BlockingIOError:
                break
            if (to := destination(packet)) is not None:
                yield {"what": "packet", "to": to, "by": "?"}
        for resolver in self.resolvers:
            with suppress(BlockingIOError):
                while question := resolver.recv(_LONGEST):
                    yield {"what": "name", "to": name_asked(question), "by": "?"}


def leave_the_network() -> World:
    """This process, and all that it starts, from here on. Raises `NotHere`."""
    try:
        _unshare()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            _up(control, b"lo")
            device = None
            with suppress(OSError):  # no /dev/net/tun, as in many containers, or only for root
                device = _routed_device(control)
        return World(device, list(_resolvers()))
    except OSError as error:  # some systems give a namespace and no rights in it
        raise NotHere(f"no network namespace can be made here: {error.strerror}") from error


def destination(packet: bytes) -> str | None:
    """Where a packet goes, such as `tcp 192.0.2.1:443`; None for the small talk of IPv6 itself."""
    if packet[0] >> 4 == 4:
        protocol, address, rest = packet[9], packet[16:20], packet[(packet[0] & 15) * 4 :]
    else:
        protocol, address, rest = packet[6], packet[24:40], packet[40:]
        # Neighbours and routers are looked for as soon as a device is up, before any process wants anything.
        if protocol in (0, _ICMPV6) and ip_address(address).is_multicast:
            return None
    to = f"{_TRANSPORTS.get(protocol, protocol)} {ip_address(address)}"
    if protocol not in (6, 17):
        return to
    port = int.from_bytes(rest[2:4], "big")
    return f"{to}:{port}" + (f", the name {name_asked(rest[8:])}" if (protocol, port) == (17, 53) else "")


def name_asked(question: bytes) -> str:
    """The name in a question to a resolver (RFC 1035)."""
    labels, at = [], 12
    while at < len(question) and (length := question[at]):
        labels.append(question[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    return ".".join(labels)


def _unshare() -> None:
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    # Who is not root gets the right with a namespace of users, in which they stay who they are.
    if libc.unshare(_NEW_NET if user == 0 else _NEW_NET | _NEW_USER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _up(control: socket.socket, name: bytes) -> None:
    request = struct.pack("16sh14x", name, 0)
    (flags,) = struct.unpack("16xh14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))
    fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", name, flags | _IFF_UP))


def _routed_device(control: socket.socket) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sh22x", _DEVICE, _IFF_TUN | _IFF_NO_PI))
    address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(_OUR_ADDRESS))
    fcntl.ioctl(control, _SIOCSIFADDR, struct.pack("16s16s", _DEVICE, address))
    _up(control, _DEVICE)
    name, everywhere = ctypes.create_string_buffer(_DEVICE), struct.pack("HH4s8x", socket.AF_INET, 0, b"")
    route = struct.pack(
        *("@L16s16s16sHhLPhPLLH", 0, everywhere, everywhere, everywhere),
        *(_RTF_UP, 0, 0, 0, 0, ctypes.addressof(name), 0, 0, 0),
    )
    fcntl.ioctl(control, _SIOCADDRT, route)
    with suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control6:  # no IPv6 at all
        (index,) = struct.unpack("16xi20x", fcntl.ioctl(control, _SIOCGIFINDEX, struct.pack("40s", _DEVICE)))
        route6 = struct.pack("@16s16s16sIHHILIi", b"", b"", b"", 0, 0, 0, 1, 0, _RTF_UP, index)
        fcntl.ioctl(control6, _SIOCADDRT, route6)
    return device


def _resolvers() -> Iterator[socket.socket]:
    for line in Path("/etc/resolv.conf").read_text().splitlines():
        match line.split():
            case ["nameserver", address, *_] if ip_address(address.partition("%")[0]).is_loopback:
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                resolver = socket.socket(family, socket.SOCK_DGRAM)
                resolver.setblocking(False)
                resolver.bind((address, 53))
                yield resolver


def main(log: str, *command: str) -> int:
    try:
        world = leave_the_network()
    except NotHere as reason:
        sys.stderr.write(f"{reason}\n")
        return NOT_HERE
    code = subprocess.run(command).returncode
    with Path(log).open("a") as lines:
        lines.writelines(json.dumps(tried) + "\n" for tried in world.tried())
    if world.device is None:
        sys.stderr.write("no device in the namespace: packets of C code are lost unseen\n")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
