"""`bot`, `agents` and `knowledge` are ours alone (docs/decisions/0001-an-application-not-a-package.md)."""

import importlib
from importlib.metadata import packages_distributions

import pytest

OURS = ("bot", "agents", "knowledge")


@pytest.mark.parametrize("name", OURS)
def test_no_installed_package_owns_the_name(name: str) -> None:
    assert packages_distributions().get(name, []) == []


@pytest.mark.parametrize("name", OURS)
def test_the_name_leads_to_this_repository(name: str, pytestconfig: pytest.Config) -> None:
    assert importlib.import_module(name).__file__ == str(pytestconfig.rootpath / name / "__init__.py")
