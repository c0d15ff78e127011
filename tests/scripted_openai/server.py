"""A host that speaks OpenAI's chat completions and embeddings on 127.0.0.1, whose model is a script.

    async with ScriptedOpenAI(lambda request: Text("Hello.")) as host:
        client = AsyncOpenAI(base_url=host.base_url, api_key=host.api_key)

It refuses what OpenAI refuses, with OpenAI's error bodies. It holds the script to what a model could say.
"""

import asyncio
import contextlib
import inspect
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.scripted_openai import errors
from tests.scripted_openai.chat_rules import check_rules
from tests.scripted_openai.chat_shape import check_shape
from tests.scripted_openai.completion import completion, made_up, stream
from tests.scripted_openai.embeddings import check_embedding_shape, embedding_answer, parse_embedding
from tests.scripted_openai.plausible import no_model_says
from tests.scripted_openai.record import Record, Refused, ScriptFault
from tests.scripted_openai.replies import Drop, Failure, Hang, ModelReply, Raw, Reply
from tests.scripted_openai.request import ChatRequest, Traced, parse_chat
from tests.scripted_openai.wire import begin_stream, failure_response, finish, headers_of, read_body

Answer = Callable[[ChatRequest], Reply | Awaitable[Reply]]
Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]

CHAT_MODELS = ("gpt-4.1-mini", "gpt-4.1")
EMBEDDING_MODELS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
CONTEXT_WINDOW = 1_047_576  # of gpt-4.1
CREATED = 1744316542  # of gpt-4.1-mini, as /v1/models has it
MODEL_PAGES = "/v1/models/"
LARGEST_BODY = 64 * 1024 * 1024
SECONDS_TO_STOP = 1.0


class ScriptedOpenAI(Record):
    """The host, as long as the `async with` lasts. Leaving it raises ScriptFault if the script was wrong."""

    def __init__(
        self,
        answer: Answer,
        *,
        port: int = 0,
        keys: Sequence[str] | None = None,
        models: Sequence[str] = CHAT_MODELS,
        embedding_models: Mapping[str, int] = EMBEDDING_MODELS,
        context_window: int = CONTEXT_WINDOW,
    ) -> None:
        """`port=0` takes a free one; `embedding_models`: name to dimensions; `context_window`: tokens."""
        super().__init__()
        self.answer = answer
        self.port = port
        self.keys = tuple(keys) if keys is not None else (f"sk-proj-{secrets.token_urlsafe(36)}",)
        self.models = tuple(models)
        self.embedding_models = dict(embedding_models)
        self.context_window = context_window
        self._embedding_failure: tuple[Reply, float] | None = None
        self._runner: web.AppRunner | None = None
        self._sent = count(1)
        self._routes: dict[str, tuple[str, Handler]] = {
            "/v1/chat/completions": ("POST", self._chat),
            "/v1/embeddings": ("POST", self._embed),
            "/v1/models": ("GET", self._list_models),
            MODEL_PAGES: ("GET", self._show_model),
        }

    @property
    def base_url(self) -> str:
        """What a client is given as base_url."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def api_key(self) -> str:
        """A key that is accepted."""
        return self.keys[0]

    def fail_embeddings(self, reply: Failure | Hang | Drop | Raw, times: float = 1) -> None:
        """Answers the next `times` embedding requests so: `math.inf` for all of them, 0 to heal."""
        self._embedding_failure = (reply, times)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=SECONDS_TO_STOP
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        if self._runner is not None:
            await self._runner.cleanup()
        if not self.faults:
            return
        problem = "\n".join(str(fault) for fault in self.faults)
        if error is None:
            raise ScriptFault(problem) from self.faults[0].__cause__
        error.add_note(f"The script was wrong before: {problem}")

    async def _serve(self, http: web.Request) -> web.StreamResponse:
        """Every request: finds who answers it, and turns a refusal into its error body."""
        body: Any = None
        try:
            handler = self._route(http)
            self._check_key(http)
            body = await read_body(http) if http.method == "POST" else {}
            return await handler(http, body)
        except errors.Refusal as refused:
            self.refusals.append(
                Refused(
                    http.method, http.path, refused.status, refused.message, refused.param, refused.code, body
                )
            )
            self.changed()
            return web.json_response(refused.body(), status=refused.status, headers=self._headers())
        except (ConnectionError, web.HTTPException):
            raise
        except Exception as error:  # the host has a bug: a test must not take that for an answer of OpenAI's
            fault = self._fault(f"{http.method} {http.path}: the host itself raised {error!r}", error)
            return failure_response(fault, self._headers())

    def _route(self, http: web.Request) -> Handler:
        """Who answers. Raises Refusal for an unknown address or a wrong method."""
        path = MODEL_PAGES if http.path.startswith(MODEL_PAGES) else http.path
        if path not in self._routes:
            raise errors.unknown_url(http.method, http.path)
        method, handler = self._routes[path]
        if http.method != method:
            raise errors.wrong_method(http.method, http.path)
        return handler

    def _check_key(self, http: web.Request) -> None:
        """Raises Refusal unless the request carries one of the keys."""
        scheme, _, key = http.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise errors.no_key()
        if key.strip() not in self.keys:
            raise errors.wrong_key(key.strip())

    async def _chat(self, http: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        check_shape(body)
        if body["model"] in self.embedding_models:
            raise errors.wrong_kind_of_model("sample")
        if body["model"] not in self.models:
            raise errors.unknown_model(body["model"])
        check_rules(body, self.context_window)
        request = parse_chat(body, len(self.requests) + 1, headers_of(http))
        self.requests.append(request)
        response: web.StreamResponse | None
        last = b""
        with self.following(request):
            reply = await self._ask(request)
            await self._pause(reply.delay)
            if isinstance(reply, ModelReply) and request.stream:
                request.trace.status = 200
                *events, last = stream(request, reply)
                response = await begin_stream(http, events, self._headers())
            elif isinstance(reply, ModelReply):
                request.trace.status = 200
                response = web.json_response(completion(request, reply), headers=self._headers())
            else:
                response = await self._other(request, reply)
        # The request is over before the last bytes go out, so that a client that has them finds it over.
        return await finish(http, response, last)

    async def _embed(self, http: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """POST /v1/embeddings."""
        check_embedding_shape(body)
        if body["model"] in self.models:
            raise errors.wrong_kind_of_model("generate embeddings")
        if body["model"] not in self.embedding_models:
            raise errors.unknown_model(body["model"])
        size = self.embedding_models[body["model"]]
        request = parse_embedding(body, size, len(self.embedding_requests) + 1, headers_of(http))
        self.embedding_requests.append(request)
        response: web.Response | None
        with self.following(request):
            failure = self._next_embedding_failure()
            if failure is not None:
                await self._pause(failure.delay)
                response = await self._other(request, failure)
            else:
                request.trace.status = 200
                response = web.json_response(embedding_answer(request), headers=self._headers())
        return await finish(http, response)

    async def _list_models(self, http: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """GET /v1/models."""
        models = [described(name) for name in (*self.models, *self.embedding_models)]
        return web.json_response({"object": "list", "data": models}, headers=self._headers())

    async def _show_model(self, http: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """GET /v1/models/{model}."""
        name = http.path.removeprefix(MODEL_PAGES)
        if name not in self.models and name not in self.embedding_models:
            raise errors.no_such_model_page(name)
        return web.json_response(described(name), headers=self._headers())

    async def _ask(self, request: ChatRequest) -> Reply:
        """What the script answers; a fault of the script is recorded, and answered as one."""
        number = f"Request #{request.number}"
        try:
            reply = self.answer(request)
            if inspect.isawaitable(reply):
                reply = await reply
            if not isinstance(reply, Reply):
                return self._fault(f"{number}: the script answered {reply!r}, which is no Reply")
            problem = no_model_says(request, reply) if isinstance(reply, ModelReply) else None
        except Exception as error:  # whatever a script may raise
            return self._fault(f"{number}: the script raised {error!r}", error)
        return reply if problem is None else self._fault(f"{number}: the script answered {problem}")

    def _fault(self, problem: str, cause: Exception | None = None) -> Failure:
        """Records a fault of the script. The client is told not to try again: OpenAI's packages obey."""
        fault = ScriptFault(f"{problem}.")
        fault.__cause__ = cause
        self.faults.append(fault)
        return Failure(500, "script_fault", str(fault), "server_error", headers={"x-should-retry": "false"})

    async def _pause(self, seconds: float) -> None:
        """Waits so long, or until the host stops."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), seconds)

    async def _other(self, request: Traced, reply: Reply) -> web.Response | None:
        """An answer that no model gives. None is a connection to close without one."""
        match reply:
            case Failure(status=status):
                request.trace.status = status
                return failure_response(reply, self._headers())
            case Raw(status=status, body=body, content_type=content_type):
                request.trace.status = status
                return web.Response(status=status, body=body, headers={"content-type": content_type})
            case Hang():
                await self.stopping.wait()
        request.trace.status = 0
        return None

    def _next_embedding_failure(self) -> Reply | None:
        """The failure that the next embedding request is due, if any."""
        if self._embedding_failure is None or self._embedding_failure[1] <= 0:
            return None
        reply, times = self._embedding_failure
        self._embedding_failure = (reply, times - 1)
        return reply

    def _headers(self) -> dict[str, str]:
        """Headers of the real host that a client may log."""
        return {
            "x-request-id": f"req_{made_up(f'{self.port} {next(self._sent)}', 32)}",
            "openai-version": "2020-10-01",
            "openai-organization": "org-scripted",
        }


def described(model: str) -> dict[str, Any]:
    """A model as /v1/models shows it."""
    return {"id": model, "object": "model", "created": CREATED, "owned_by": "system"}
