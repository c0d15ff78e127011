"""What all scripted hosts share: they serve 127.0.0.1, ask the script and hold it to account."""

import asyncio
import contextlib
import inspect
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.plausible import no_model_says
from tests.scripted_openai.record import Record, Refused, ScriptFault
from tests.scripted_openai.replies import Failure, Hang, ModelReply, Raw, Reply
from tests.scripted_openai.request import ChatRequest, Traced
from tests.scripted_openai.wire import begin_stream, finish

Answer = Callable[[ChatRequest], Reply | Awaitable[Reply]]
Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]

LARGEST_BODY = 64 * 1024 * 1024
SECONDS_TO_STOP = 1.0


class ScriptedHost(Record):
    """A host, as long as the `async with` lasts. Leaving it raises ScriptFault if the script was wrong."""

    def __init__(self, answer: Answer, *, port: int, keys: Sequence[str], models: Sequence[str]) -> None:
        """`port=0` takes a free one."""
        super().__init__()
        self.answer = answer
        self.port = port
        self.keys = tuple(keys)
        self.models = tuple(models)
        self._runner: web.AppRunner | None = None

    @property
    def api_key(self) -> str:
        """A key that is accepted."""
        return self.keys[0]

    @abstractmethod
    def _route(self, http: web.Request) -> Handler:
        """Who answers. Raises Refusal for an unknown address or a wrong method."""

    @abstractmethod
    def _check_key(self, http: web.Request) -> None:
        """Raises Refusal unless the request carries one of the keys."""

    @abstractmethod
    async def _read(self, http: web.Request) -> dict[str, Any]:
        """The body of a POST. Raises Refusal unless it is a JSON object."""

    @abstractmethod
    def _headers(self) -> dict[str, str]:
        """Headers of the real host that a client may log."""

    @abstractmethod
    def _failure(self, failure: Failure) -> web.Response:
        """An error that the script asks for, in the words of this host."""

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
            body = await self._read(http) if http.method == "POST" else {}
            return await handler(http, body)
        except Refusal as refused:
            self.refusals.append(
                Refused(
                    http.method, http.path, refused.status, refused.message, refused.param, refused.code, body
                )
            )
            self.changed()
            return web.json_response(refused.body(), status=refused.status, headers=self._headers())
        except (ConnectionError, web.HTTPException):
            raise
        except Exception as error:  # the host has a bug: a test must not take that for an answer of a model
            return self._failure(
                self._fault(f"{http.method} {http.path}: the host itself raised {error!r}", error)
            )

    async def _answer(
        self,
        http: web.Request,
        request: ChatRequest,
        made: Callable[[ModelReply], dict[str, Any] | Sequence[bytes]],
    ) -> web.StreamResponse:
        """Asks the script and sends what it says, made JSON or the events of a stream by `made`."""
        self.requests.append(request)
        response: web.StreamResponse | None
        last = b""
        with self.following(request):
            reply = await self._ask(request)
            await self._pause(reply.delay)
            if isinstance(reply, ModelReply):
                request.trace.status = 200
                answer = made(reply)
                if isinstance(answer, dict):
                    response = web.json_response(answer, headers=self._headers())
                else:
                    *events, last = answer
                    response = await begin_stream(http, events, self._headers())
            else:
                response = await self._other(request, reply)
        # The request is over before the last bytes go out, so that a client that has them finds it over.
        return await finish(http, response, last)

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
        """Records a fault of the script. The client is told not to try again: the makers' packages obey."""
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
            case Failure():
                response = self._failure(reply)
                request.trace.status = response.status
                return response
            case Raw(status=status, body=body, content_type=content_type):
                request.trace.status = status
                return web.Response(status=status, body=body, headers={"content-type": content_type})
            case Hang():
                await self.stopping.wait()
        request.trace.status = 0
        return None
