"""Runs a program and lists what it tried to send off this machine, in whatever process, in whatever way."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.egress.alone import NOT_HERE
from tests.egress.guard.sitecustomize import LOG

ROOT = Path(__file__).parent.parent.parent
_GUARD = Path(__file__).parent / "guard"
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL")  # of the caller's environment: no keys, no settings


@dataclass(frozen=True)
class Watched:
    """How a program ended, and what it tried."""

    code: int
    output: str
    errors: str
    tried: list[str]  # such as `socket.connect 192.0.2.1:443`, in order for each way of watching
    alone: bool  # in a namespace without a network; else Python's own sockets were watched
    packets: bool  # also those of C code


def watched(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    seconds: float,
    namespace: bool = True,
) -> Watched:
    """Run `python COMMAND…` in `folder` and wait for it. Python's own sockets are always watched.

    It runs in a namespace without a network where the system allows that, unless `namespace` is False.
    Raises TimeoutError with the end of its output after `seconds`; then none of its processes is left.
    """
    log = folder / "tried.jsonl"
    log.write_text("")
    log.chmod(0o666)  # as root the database's processes are those of another user
    environment = {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        "PYTHONPATH": f"{_GUARD}{os.pathsep}{ROOT}",
        LOG: str(log),
        **(environment or {}),
    }
    run = [sys.executable, *command]
    if namespace:
        run = [sys.executable, "-m", "tests.egress.alone", str(log), *run]
    code, output, errors = _ended(run, folder, environment, seconds)
    if namespace and code == NOT_HERE:
        return watched(command, folder=folder, environment=environment, seconds=seconds, namespace=False)
    tried = [json.loads(line) for line in log.read_text().splitlines()]
    return Watched(
        code=code,
        output=output,
        errors=errors,
        tried=[f"{one['what']} {one['to']}" for one in tried],
        alone=namespace,
        packets=namespace and "lost unseen" not in errors,
    )


def _ended(
    run: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> tuple[int, str, str]:
    # Into files: a database that outlives its program would hold pipes open for ever.
    with (folder / "output").open("w+b") as output, (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(
            run,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        timely = True
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            timely = False
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said = []
        for file in (output, errors):
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
    if not timely:
        raise TimeoutError(f"not done in {seconds:g} s: {' '.join(run)}\n{said[0][-2000:]}{said[1][-4000:]}")
    return process.returncode, said[0], said[1]
