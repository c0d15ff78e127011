"""Requirements are pinned and hashed, name no index, and each direct one says what it is for."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

REQUIREMENT = re.compile(
    r"([a-z0-9._-]+)==([^\s;]+)(?: ; [^\\]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n"
)
FILES = ("requirements.txt", "requirements-dev.txt")


@pytest.fixture
def root(pytestconfig: pytest.Config) -> Path:
    return pytestconfig.rootpath


@pytest.fixture
def pyproject(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def pins(file: Path) -> set[tuple[str, str]]:
    """Name and version of each requirement; a name has several where they differ by Python or platform."""
    return {(match[1], match[2]) for match in REQUIREMENT.finditer(file.read_text())}


def name_of(dependency: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", dependency)
    assert match, dependency
    return re.sub(r"[-_.]+", "-", match[0]).lower()


@pytest.mark.parametrize("file", FILES)
def test_a_requirements_file_holds_pinned_and_hashed_requirements_and_nothing_else(
    root: Path, file: str
) -> None:
    text = (root / file).read_text()
    assert pins(root / file)
    assert REQUIREMENT.sub("", text) == ""


def test_what_the_bot_depends_on_is_in_both_files(root: Path, pyproject: dict[str, Any]) -> None:
    wanted = {name_of(dependency) for dependency in pyproject["project"]["dependencies"]}
    for file in FILES:
        assert wanted <= {name for name, _ in pins(root / file)}, file


def test_what_tests_depend_on_is_in_the_development_file(root: Path, pyproject: dict[str, Any]) -> None:
    wanted = {name_of(dependency) for dependency in pyproject["dependency-groups"]["dev"]}
    assert wanted <= {name for name, _ in pins(root / "requirements-dev.txt")}


def test_tests_run_with_the_versions_that_the_bot_runs_with(root: Path) -> None:
    assert pins(root / "requirements.txt") <= pins(root / "requirements-dev.txt")


def test_excluded_packages_have_not_come_back(root: Path, pyproject: dict[str, Any]) -> None:
    excluded = {name_of(name) for name in pyproject["tool"]["uv"]["exclude-dependencies"]}
    for file in FILES:
        assert not excluded & {name for name, _ in pins(root / file)}, file


def test_each_dependency_says_what_it_is_for(root: Path, pyproject: dict[str, Any]) -> None:
    text = (root / "pyproject.toml").read_text()
    dependencies = [*pyproject["project"]["dependencies"], *pyproject["dependency-groups"]["dev"]]
    for dependency in dependencies:
        assert re.search(rf'^    "{re.escape(dependency)}", +# \S.*', text, re.M), dependency
