"""Which files a person means by the paths given to ingest."""

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

_VENDORED = frozenset({"node_modules", "bower_components", "vendor", "venv", "site-packages", "__pycache__"})
# Nobody expects these to be read, so inside a folder they are not worth a line in the report.
_MEDIA = frozenset(
    {
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".webp",
        ".svg",
        ".ico",
        ".bmp",
        ".tif",
        ".tiff",
        ".heic",
        ".avif",
        ".mp3",
        ".wav",
        ".ogg",
        ".flac",
        ".m4a",
        ".mp4",
        ".mov",
        ".avi",
        ".webm",
        ".mkv",
        ".woff",
        ".woff2",
        ".ttf",
        ".otf",
        ".eot",
        ".zip",
        ".gz",
        ".tgz",
        ".bz2",
        ".xz",
        ".zst",
        ".7z",
        ".rar",
        ".tar",
        ".jar",
        ".so",
        ".dylib",
        ".dll",
        ".exe",
        ".o",
        ".a",
        ".pyc",
        ".class",
        ".wasm",
        ".map",
        ".lock",
        ".sum",
        ".sqlite",
        ".db",
        ".parquet",
        ".npy",
        ".pkl",
    }
)


class LoadError(Exception):
    """This file gives no text. The message is a reason for FailedPath."""


class FailedPath(BaseModel):
    """A path that did not get into the knowledge base."""

    path: str  # as it was given, or below the folder that was given
    reason: str  # what is wrong and how to mend it, to stand in brackets after the path


@dataclass(frozen=True)
class FoundFile:
    """A file to ingest."""

    path: str  # for people: as given, or below the folder that was given
    file: Path  # absolute, without symbolic links: the file's identity


@dataclass(frozen=True)
class Found:
    """What the given paths stand for."""

    files: list[FoundFile]  # each once, in a stable order
    failed: list[FailedPath]
    folders: list[Path]  # the given folders that hold any file, absolute


def find_files(paths: Sequence[Path]) -> Found:
    """The files that `paths` stand for. Touches the disk: call it in a thread.

    Folders are read with all below them, except hidden and vendored folders, hidden files, media and
    archives, and linked folders (they may lead in a circle). A file that is named is always taken.
    """
    files: dict[Path, FoundFile] = {}
    failed: list[FailedPath] = []
    folders: list[Path] = []
    for path in paths:
        try:
            resolved = path.resolve(strict=True)
            is_folder = resolved.is_dir()
        except (OSError, RuntimeError) as error:  # before Python 3.13 a circle of links is a RuntimeError
            failed.append(FailedPath(path=_printable(path), reason=why_unreadable(error)))
            continue
        before = len(files), len(failed)
        for each in _below(path, failed) if is_folder else [path]:
            try:
                file = each.resolve(strict=True)
                os.fsencode(each).decode()  # PostgreSQL keeps UTF-8 only
                os.fsencode(file).decode()
            except UnicodeDecodeError:
                failed.append(FailedPath(path=_printable(each), reason="its name is not UTF-8: rename it"))
            except (OSError, RuntimeError) as error:
                failed.append(FailedPath(path=_printable(each), reason=why_unreadable(error)))
            else:
                files.setdefault(file, FoundFile(str(each), file))
                if is_folder and resolved not in folders:
                    folders.append(resolved)
        if is_folder and before == (len(files), len(failed)) and resolved not in folders:
            failed.append(
                FailedPath(path=_printable(path), reason="no file in this folder that could be read")
            )
    return Found(list(files.values()), failed, folders)


def why_unreadable(error: OSError | RuntimeError) -> str:
    """The reason, for a person, why a file or folder cannot be read."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return "no such file or folder: check the spelling"
        case PermissionError():
            return "no permission to read it: change its permissions"
        case OSError() if error.errno != errno.ELOOP:
            return f"cannot be read: {error.strerror or error}"
        case _:
            return "a symbolic link that leads back to itself: give the real path"


def _printable(path: Path) -> str:
    """A path as text that can be stored and shown, whatever bytes its name is made of."""
    return os.fsencode(path).decode(errors="replace")


def _below(folder: Path, failed: list[FailedPath]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        failed.append(FailedPath(path=_printable(Path(error.filename)), reason=why_unreadable(error)))

    for parent, names_of_folders, names in os.walk(folder, onerror=unreadable):
        names_of_folders[:] = sorted(
            n for n in names_of_folders if not n.startswith(".") and n not in _VENDORED
        )
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() not in _MEDIA and ".min." not in name:
                yield Path(parent, name)
