"""Traces and metrics by OpenTelemetry: a trace for each leg. Off, and not even imported, unless asked for."""

import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from pydantic_ai import Agent

from bot.logs import about_leg
from knowledge.article import Status
from knowledge.articles import Articles
from knowledge.counters import leg_seconds

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger(__name__)

Signal = Literal["traces", "metrics"]

# On the way out: for what is not sent yet. A collector that is away must not hold up a deploy.
FLUSH_SECONDS = 5.0

OUT_OF_DATE = "out_of_date"
_GOOD_ENDS = frozenset({OUT_OF_DATE, *Status} - {Status.FAILED})


class Wanted(NamedTuple):
    """What is sent, and why not all of it, in a sentence for the log."""

    signals: frozenset[Signal]
    problem: str | None


def wanted(environment: Mapping[str, str]) -> Wanted:
    """What OpenTelemetry's own variables ask for. An endpoint turns it on, none of them nothing.

    A wish that cannot be met is no fault of the bot: it works on without being watched, and says so.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Wanted(frozenset(), None)
    signals: set[Signal] = set()
    problems = []
    each: tuple[Signal, ...] = ("traces", "metrics")
    for signal in each:
        own = f"OTEL_EXPORTER_OTLP_{signal.upper()}"
        if not (environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environment.get(f"{own}_ENDPOINT")):
            continue
        exporter = environment.get(f"OTEL_{signal.upper()}_EXPORTER") or "otlp"
        protocol = (
            environment.get(f"{own}_PROTOCOL")
            or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL")
            or "http/protobuf"
        )
        if exporter == "none":
            continue
        if exporter != "otlp":
            problems.append(f"OTEL_{signal.upper()}_EXPORTER={exporter}: it may be otlp or none")
        elif protocol != "http/protobuf":
            problems.append(
                f"{protocol} is not spoken: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, and the "
                "endpoint to the port for it, mostly 4318"
            )
        else:
            signals.add(signal)
    return Wanted(frozenset(signals), "; ".join(dict.fromkeys(problems)) or None)


@contextmanager
def exporting(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Send traces and metrics while it lasts, if that is wanted; once in a process, around its loop."""
    signals, problem = wanted(environment)
    if problem is not None:
        log.warning("not watched by OpenTelemetry: %s", problem)
    if not signals:
        yield
        return
    shutdowns = _start(signals, environment)
    try:
        yield
    finally:
        flush(shutdowns, FLUSH_SECONDS)


def flush(shutdowns: Sequence[Callable[[], object]], seconds: float) -> None:
    """Let all of them send what is left, side by side; who needs longer is left behind."""
    threads = [threading.Thread(target=shutdown, daemon=True) for shutdown in shutdowns]
    until = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def _start(signals: frozenset[Signal], environment: Mapping[str, str]) -> list[Callable[[], None]]:
    # Half a second to import: only where it is used.
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource

    named = environment.get("OTEL_SERVICE_NAME") or "service.name=" in environment.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    resource = Resource.create({} if named else {SERVICE_NAME: "copydesk"})
    shutdowns: list[Callable[[], None]] = []
    if "metrics" in signals:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

        meters = MeterProvider(
            [PeriodicExportingMetricReader(OTLPMetricExporter())], resource=resource, shutdown_on_exit=False
        )
        metrics.set_meter_provider(meters)
        shutdowns.append(meters.shutdown)
    if "traces" in signals:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracers)
        shutdowns.append(tracers.shutdown)
    watch_agents()
    host = urlsplit(environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")).hostname
    log.info(
        "%s go to %s by OpenTelemetry", " and ".join(sorted(signals, reverse=True)), host or "a collector"
    )
    return shutdowns


def watch_agents(tracers: "TracerProvider | None" = None, meters: "MeterProvider | None" = None) -> None:
    """Spans of PydanticAI for each run, model call and tool; what was asked and answered stays out of them.

    Without arguments: into the providers of this process.
    """
    from pydantic_ai.models.instrumented import InstrumentationSettings

    Agent.instrument_all(
        InstrumentationSettings(
            tracer_provider=tracers,
            meter_provider=meters,
            include_content=False,
            include_binary_content=False,
            include_model_request_parameters=False,
        )
    )


def watched(
    work: Callable[[int, int], Awaitable[None]],
    articles: Articles,
    tracers: "trace.TracerProvider | None" = None,
) -> Callable[[int, int], Awaitable[None]]:
    """A leg (`work(article_id, moves)`) that names itself in the log and is a trace of its own.

    The traces of an article have its number in `copydesk.article`; days may lie between two of them.
    """
    watching = tracers is not None or bool(wanted(os.environ).signals)
    tracer = trace.get_tracer("copydesk", tracer_provider=tracers)

    async def leg(article_id: int, moves: int) -> None:
        article = await articles.get(article_id)
        name = article.status.value if article is not None and article.moves == moves else OUT_OF_DATE
        with about_leg(article_id, name):
            if not watching:
                await work(article_id, moves)
                return
            about: dict[str, str | int] = {
                "copydesk.article": article_id,
                "copydesk.leg": name,
                "copydesk.moves": moves,
            }
            # What a fault says is left out: it may quote people or models.
            with tracer.start_as_current_span(
                f"leg {name}",
                Context(),
                attributes=about,
                record_exception=False,
                set_status_on_exception=False,
            ) as span:
                end, begun = "aborted", time.monotonic()
                try:
                    await work(article_id, moves)
                    end = await _reached(articles, article_id) if name != OUT_OF_DATE else OUT_OF_DATE
                except Exception as fault:
                    end = type(fault).__name__
                    raise
                finally:
                    leg_seconds.record(time.monotonic() - begun, {"leg": name, "end": end})
                    span.set_attribute("copydesk.end", end)
                    if end not in _GOOD_ENDS:
                        span.set_status(trace.StatusCode.ERROR, end)

    return leg


async def _reached(articles: Articles, article_id: int) -> str:
    """The status that an article is in now."""
    article = await articles.get(article_id)
    return "gone" if article is None else article.status.value
