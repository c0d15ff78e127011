"""What is watched by OpenTelemetry: nothing unless asked for, and then without what people wrote."""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.models.test import TestModel

from bot.telemetry import Signal, Wanted, exporting, flush, wanted, watch_agents

COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
ROOT = Path(__file__).parents[2]
SECRETS = ("Why Argon2id?", "为什么用 Argon2id？", "なぜ Argon2id か")


@pytest.mark.parametrize(
    ("environment", "signals"),
    [
        ({}, set()),
        (COLLECTOR, {"traces", "metrics"}),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, set()),
        ({"OTEL_SERVICE_NAME": "copydesk"}, set()),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, {"traces"}),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://collector:4318/v1/metrics"}, {"metrics"}),
        ({**COLLECTOR, "OTEL_SDK_DISABLED": "true"}, set()),
        ({**COLLECTOR, "OTEL_SDK_DISABLED": "TRUE"}, set()),
        ({**COLLECTOR, "OTEL_SDK_DISABLED": "false"}, {"traces", "metrics"}),
        ({**COLLECTOR, "OTEL_METRICS_EXPORTER": "none"}, {"traces"}),
        ({**COLLECTOR, "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, set()),
        ({**COLLECTOR, "OTEL_TRACES_EXPORTER": "otlp"}, {"traces", "metrics"}),
        ({**COLLECTOR, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, {"traces", "metrics"}),
    ],
)
def test_an_endpoint_turns_it_on_and_opentelemetrys_own_switches_turn_it_off(
    environment: dict[str, str], signals: set[Signal]
) -> None:
    assert wanted(environment) == Wanted(frozenset(signals), None)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ("grpc", "http/protobuf", "4318")),
        ({"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json"}, ("http/json",)),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, ("OTEL_TRACES_EXPORTER=zipkin", "otlp or none")),
    ],
)
def test_a_wish_that_cannot_be_met_is_told_and_does_not_stop_the_bot(
    environment: dict[str, str], words: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    asked = {**COLLECTOR, "OTEL_METRICS_EXPORTER": "none", **environment}
    if "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL" in environment:
        asked = {**COLLECTOR, "OTEL_TRACES_EXPORTER": "none", **environment}
    with exporting(asked):
        pass
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    for word in words:
        assert word in record.getMessage()


def test_where_it_is_not_asked_for_it_is_not_even_imported() -> None:
    program = (
        "import json, sys, bot.cli; from bot.telemetry import exporting\n"
        "with exporting({}): print(json.dumps([m for m in sys.modules if m.startswith('opentelemetry.sdk')"
        " or m.startswith('google.protobuf')]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(ran.stdout) == []


def test_a_collector_that_does_not_answer_is_left_behind_and_others_get_what_is_theirs() -> None:
    answered, sent, gave_up = threading.Event(), threading.Event(), threading.Event()

    def silent() -> None:
        answered.wait(30)
        gave_up.set()

    flush([silent, sent.set], 0.05)
    assert sent.is_set()
    assert not gave_up.is_set()
    answered.set()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """The spans of PydanticAI as the bot has them made."""
    exporter = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    watch_agents(tracers, MeterProvider([InMemoryMetricReader()]))
    yield exporter
    Agent.instrument_all(False)
    tracers.shutdown()


async def test_runs_model_calls_and_tools_are_spans_without_what_was_said(
    spans: InMemorySpanExporter,
) -> None:
    agent = Agent(TestModel(custom_output_text=SECRETS[1]), name="writer", instructions=SECRETS[2])

    @agent.tool_plain
    def search(query: str) -> str:
        return SECRETS[0]

    await agent.run(f"{SECRETS}")
    names = [span.name for span in spans.get_finished_spans()]
    assert sorted(name.split()[0] for name in names) == ["chat", "chat", "execute_tool", "invoke_agent"]
    assert "invoke_agent writer" in names
    seen = "".join(span.to_json() for span in spans.get_finished_spans())
    assert_nothing_said(seen)


async def test_what_went_wrong_is_a_span_without_what_was_said(spans: InMemorySpanExporter) -> None:
    agent = Agent(TestModel(), name="writer", retries=1)

    @agent.tool_plain
    def search(query: str) -> str:
        raise ModelRetry(f"{SECRETS}")

    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("write")
    finished = spans.get_finished_spans()
    assert any(not span.status.is_ok and span.status.status_code.name == "ERROR" for span in finished)
    assert_nothing_said("".join(span.to_json() for span in finished))


def assert_nothing_said(seen: str) -> None:
    for said in SECRETS:
        assert said not in seen
        assert json.dumps(said)[1:-1] not in seen
