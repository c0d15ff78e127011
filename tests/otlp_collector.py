"""A collector of OpenTelemetry on this machine: takes OTLP over HTTP and keeps what came."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

# With the types that protobuf leaves out.
TRACES: Callable[[bytes], ExportTraceServiceRequest] = ExportTraceServiceRequest.FromString
METRICS: Callable[[bytes], ExportMetricsServiceRequest] = ExportMetricsServiceRequest.FromString


@dataclass
class Collector:
    """`url` is what `OTEL_EXPORTER_OTLP_ENDPOINT` names."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    spans: list[Span] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)

    async def take_traces(self, request: web.Request) -> web.Response:
        self.bodies.append(body := await request.read())
        for resource in TRACES(body).resource_spans:
            self.services.add(attributes(resource.resource.attributes)["service.name"])
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        return web.Response()

    async def take_metrics(self, request: web.Request) -> web.Response:
        self.bodies.append(body := await request.read())
        for resource in METRICS(body).resource_metrics:
            self.metrics += [metric for scope in resource.scope_metrics for metric in scope.metrics]
        return web.Response()

    def counted(self, name: str) -> dict[tuple[str, ...], float]:
        """A counter, or how often a histogram was written to, by the values of its attributes; all processes
        together. Each process has sent its own once, at its end.
        """
        counts: dict[tuple[str, ...], float] = {}
        for metric in self.metrics:
            if metric.name != name:
                continue
            for point in [*metric.sum.data_points]:
                key = tuple(attributes(point.attributes).values())
                counts[key] = counts.get(key, 0) + (point.as_int or point.as_double)
            for bucket in metric.histogram.data_points:
                key = tuple(attributes(bucket.attributes).values())
                counts[key] = counts.get(key, 0) + bucket.count
        return counts


def attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value") for pair in pairs}


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    server = web.Application(client_max_size=64 * 1024 * 1024)
    server.add_routes(
        [web.post("/v1/traces", collector.take_traces), web.post("/v1/metrics", collector.take_metrics)]
    )
    runner = web.AppRunner(server, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        collector.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield collector
    finally:
        await runner.cleanup()
