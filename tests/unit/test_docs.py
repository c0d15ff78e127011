"""The README says what is there: every setting, every command, nothing else."""

import re

import pytest

from bot.__main__ import parser
from bot.settings import Settings
from tests.misbehaviours import MISBEHAVIOURS
from tests.research_misbehaviours import RESEARCH_MISBEHAVIOURS


@pytest.fixture
def readme(pytestconfig: pytest.Config) -> str:
    return (pytestconfig.rootpath / "README.md").read_text()


def section(text: str, heading: str) -> str:
    return text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def test_the_readme_lists_every_setting_with_its_default(readme: str) -> None:
    rows = {
        name: default.strip()
        for name, default in re.findall(r"^\| `([A-Z_]+)` \|([^|]*)\|", section(readme, "Settings"), re.M)
    }
    names = {
        str(field.validation_alias)
        if isinstance(field.validation_alias, str)
        else f"COPYDESK_{name.upper()}": field.default
        for name, field in Settings.model_fields.items()
    }
    assert set(rows) == set(names)
    for name, default in names.items():
        if isinstance(default, str | int):
            assert rows[name] == f"`{default}`", name


def test_the_example_of_an_env_file_names_the_same_settings(readme: str, pytestconfig: pytest.Config) -> None:
    example = (pytestconfig.rootpath / ".env.example").read_text()
    named = set(re.findall(r"^#?([A-Z_]+)=", example, re.M))
    assert named == set(re.findall(r"^\| `([A-Z_]+)` \|", section(readme, "Settings"), re.M))


def test_the_readme_lists_every_command_with_its_options(readme: str) -> None:
    rows = re.findall(r"^\| `([a-z]+)([^`]*)` \|", section(readme, "Commands"), re.M)
    [subparsers] = [action for action in parser()._actions if action.choices]
    commands = dict(subparsers.choices or {})
    assert [name for name, _ in rows] == list(commands)
    for name, usage in rows:
        options = {
            option
            for action in commands[name]._actions
            for option in action.option_strings
            if option not in ("-h", "--help")
        }
        assert set(re.findall(r"--[a-z-]+", usage)) == options, name


def test_links_of_the_readme_lead_somewhere(readme: str, pytestconfig: pytest.Config) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        if not target.startswith("http"):
            assert (pytestconfig.rootpath / target).exists(), target


@pytest.mark.parametrize(
    ("table", "catalogue"),
    [
        ("misbehaviours", [one.name for one in MISBEHAVIOURS]),
        ("research", [one.name for one in RESEARCH_MISBEHAVIOURS]),
    ],
)
def test_the_tables_of_misbehaviours_are_those_of_the_catalogues(
    table: str, catalogue: list[str], pytestconfig: pytest.Config
) -> None:
    """`python -m bench.models --write` writes them, and stops where one ends otherwise than expected."""
    page = (pytestconfig.rootpath / "docs" / "models.md").read_text()
    written = page.split(f"<!-- {table}: written by the command -->")[1].split("<!--")[0]
    assert re.findall(r"^\| (.*?) \|", written, re.M)[2:] == catalogue
