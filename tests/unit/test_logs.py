"""Lines of the log: which leg they are about, one line each as JSON, and never a secret."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest

from bot.logs import about_leg, secrets_of, set_up_logs

SAYINGS = ("Why Argon2id?", "为什么用 Argon2id？", "なぜ Argon2id か")
log = logging.getLogger("library.of.others")


@pytest.fixture
def _as_before() -> Iterator[None]:
    """The root logger belongs to pytest."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def lines(_as_before: None) -> io.StringIO:
    return io.StringIO()


@pytest.mark.parametrize("said", SAYINGS)
def test_a_line_of_text_names_its_leg(lines: io.StringIO, said: str) -> None:
    set_up_logs("INFO", "text", stream=lines)
    log.info("%s", said)
    with about_leg(12, "writing"):
        log.info("%s", said)
    outside, inside = lines.getvalue().splitlines()
    assert outside.endswith(f" INFO library.of.others: {said}")
    assert inside.endswith(f" INFO library.of.others: [article 12 writing] {said}")


@pytest.mark.parametrize("said", SAYINGS)
def test_a_line_of_json_is_one_object_also_with_a_traceback(lines: io.StringIO, said: str) -> None:
    set_up_logs("INFO", "json", stream=lines)
    with about_leg(12, "writing"):
        try:
            raise ValueError(f"{said}\n{said}")
        except ValueError:
            log.exception("it failed\nover two lines")
    [line] = lines.getvalue().splitlines()
    record = json.loads(line)
    assert (record["article"], record["leg"], record["level"]) == (12, "writing", "ERROR")
    assert (record["logger"], record["message"]) == ("library.of.others", "it failed\nover two lines")
    assert record["exception"].endswith(f"ValueError: {said}\n{said}")
    assert record["time"].endswith("+00:00")
    assert said in line  # readable, not escaped


async def test_tasks_and_threads_of_a_leg_name_it_and_those_of_another_do_not(lines: io.StringIO) -> None:
    set_up_logs("INFO", "json", stream=lines)

    async def leg(number: int) -> None:
        with about_leg(number, "reviewing"):
            await asyncio.gather(asyncio.create_task(say(number)), asyncio.to_thread(log.info, "%s", number))

    async def say(number: int) -> None:
        await asyncio.sleep(0)
        log.info("%s", number)

    await asyncio.gather(leg(1), leg(2))
    log.info("0")
    records = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert sorted((int(record["message"]), record.get("article", 0)) for record in records) == [
        (0, 0), (1, 1), (1, 1), (2, 2), (2, 2)
    ]  # fmt: skip


@pytest.mark.parametrize("shape", ["text", "json"])
def test_no_secret_reaches_the_log_whoever_logs_it(
    lines: io.StringIO, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {
        "SLACK_SIGNING_SECRET": "8f742231b10e8888abcd99yyyzzz85a5",
        "MISTRAL_API_KEY": 'mistral"key\\0123',
        "DATABASE_URL": "postgresql://ana:p%40ssword-of-ana@localhost/copydesk",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abcdef",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    set_up_logs("INFO", "json" if shape == "json" else "text", stream=lines)
    told = [
        *(value for name, value in secrets.items() if name != "DATABASE_URL"),
        "p%40ssword-of-ana",
        "p@ssword-of-ana",
        "Bearer%20abcdef",
        "Bearer abcdef",
        "xoxb-1234567890-abcdefghij",
        "xapp-1-A0000-abc",
        "https://hooks.slack.com/actions/T1/2/secretpart",
        "wss://wss.slack.com/link/?ticket=secretpart&app_id=A1",
        "sk-proj-abcdefghijklmnopqrstuvwxyz",
        "postgresql://bo:hunter-two@db/copydesk",
    ]
    for secret in told:
        log.info("with %s in it", secret)
        try:
            raise ValueError(secret)
        except ValueError:
            log.exception("failed")
    written = lines.getvalue()
    for secret in (*told[:-3], "secretpart", "abcdefghijklm", "hunter-two"):
        assert secret not in written
        assert json.dumps(secret)[1:-1] not in written
    assert written.count("with ") == len(told)
    assert "/copydesk" in written  # the rest stays


def test_short_values_and_what_is_not_secret_stay_readable() -> None:
    environment = {
        "OPENAI_API_KEY": "test",
        "COPYDESK_MODEL": "openai-chat:gpt-4.1-mini",
        "LLM_API_KEY": "x" * 9,
    }
    assert secrets_of(environment) == {"x" * 9}


def test_a_database_address_that_cannot_be_read_is_no_fault_of_the_log() -> None:
    assert secrets_of({"DATABASE_URL": "postgresql://[half"}) == frozenset()


def test_a_password_in_the_query_of_an_address_is_a_secret_too() -> None:
    dsn = "postgresql://copydesk@db.example.com/copydesk?password=hunter2%2Dhunter2&sslmode=require"
    assert "hunter2-hunter2" in secrets_of({"DATABASE_URL": dsn})
