"""Reasons for what was not read: each that `knowledge` gives has its words in three languages."""

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.reasons import reason_in
from knowledge.language import Language

# Those that only the command line meets: paths, sitemaps and lists of addresses.
COMMAND_LINE = {"files.py", "listing.py", "web_ingest.py", "ingest.py"}
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def texts(node: ast.AST, constants: dict[str, ast.expr]) -> list[str]:
    """What an expression may say, with 7 for each value that is only known when it runs."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(text for part in values for text in texts(part, constants)[:1] or ["7"])]
        case ast.FormattedValue(value=value):
            return texts(value, constants)
        case ast.IfExp(body=body, orelse=otherwise):
            return [*texts(body, constants), *texts(otherwise, constants)]
        case ast.Name(id=name) if name in constants:
            return texts(constants[name], constants)
        case ast.Dict(values=values):
            return [text for value in values if value is not None for text in texts(value, constants)]
        case ast.Call(args=arguments) if ast.unparse(node).startswith("dict.fromkeys"):
            return texts(arguments[1], constants)
    return []


def given_reasons(pytestconfig: pytest.Config) -> set[str]:
    found: set[str] = set()
    for file in (pytestconfig.rootpath / "knowledge").glob("*.py"):
        if file.name in COMMAND_LINE:
            continue
        tree = ast.parse(file.read_text())
        constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.IfExp):
                if re.search(r"\b(LoadError|AddressError|Gone)\b", ast.unparse(node.func)):
                    found.update(text for each in node.args for text in texts(each, constants))
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("_why"):
                returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
                found.update(text for each in returned if each for text in texts(each, constants))
        if (not_read := constants.get("_NOT_READ")) is not None:
            assert isinstance(not_read, ast.Dict)
            found.update(text for value in not_read.values for text in texts(value, constants))
    return found


def test_every_reason_that_people_in_slack_can_meet_has_its_words(pytestconfig: pytest.Config) -> None:
    reasons = given_reasons(pytestconfig) - {"neither a file nor a folder: give a file"}
    assert len(reasons) > 35
    assert "empty: there is no text in it" in reasons
    languages: tuple[Language, ...] = ("zh", "ja")
    untold = {reason for reason in reasons for language in languages if reason_in(language, reason) == reason}
    assert untold == set()


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "it redirects to what is not read: ftp is not read: give an http or https address"),
        ("zh", "它转到了不能读取的地方（不读取 ftp：请给出 http 或 https 网址）"),
        ("ja", "読めないものへ転送されます（ftp は読めません。http か https のアドレスを使ってください）"),
    ],
)
def test_a_reason_keeps_its_facts_and_the_reason_inside_it(language: Language, said: str) -> None:
    reason = "it redirects to what is not read: ftp is not read: give an http or https address"
    assert reason_in(language, reason) == said


def test_a_reason_that_nobody_foresaw_stays_as_it_is() -> None:
    assert reason_in("ja", "something new: {0} braces") == "something new: {0} braces"


@given(st.sampled_from(["zh", "ja"]), st.text(max_size=60))
def test_whatever_a_host_is_called_is_told_as_it_is(language: Language, host: str) -> None:
    told = reason_in(language, f"there is no host {host}x: check the spelling")
    assert f"{host}x" in told
    assert _CJK.search(told)
