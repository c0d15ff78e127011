"""A host that speaks OpenAI's wires on 127.0.0.1 (chat, responses, embeddings); its model is a script.

    async with ScriptedOpenAI(lambda request: Text("Hello.")) as host:
        client = AsyncOpenAI(base_url=host.base_url, api_key=host.api_key)

It refuses what OpenAI refuses, with OpenAI's error bodies. It holds the script to what a model could say.
"""

import secrets
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from aiohttp import web

from tests.scripted_openai import errors
from tests.scripted_openai.billing import tokens_of
from tests.scripted_openai.chat_rules import check_rules
from tests.scripted_openai.chat_shape import check_shape
from tests.scripted_openai.completion import completion, made_up, sloppily, spoiled, stream
from tests.scripted_openai.embeddings import check_embedding_shape, embedding_answer, parse_embedding
from tests.scripted_openai.family import FULL, Family
from tests.scripted_openai.family_rules import check_family, standard
from tests.scripted_openai.host import Answer, Handler, ScriptedHost
from tests.scripted_openai.parse import parse_chat
from tests.scripted_openai.replies import Drop, Failure, Hang, ModelReply, Raw, Reply
from tests.scripted_openai.responses import Item, items_of, parse_response, response
from tests.scripted_openai.responses_rules import check_response_rules
from tests.scripted_openai.responses_shape import check_response_shape
from tests.scripted_openai.wire import failure_response, finish, headers_of, read_body

EMBEDDING_MODELS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
CONTEXT_WINDOW = 1_047_576  # of gpt-4.1
CREATED = 1744316542  # of gpt-4.1-mini, as /v1/models has it
MODEL_PAGES = "/v1/models/"
RESPONSES = "/v1/responses"


class ScriptedOpenAI(ScriptedHost):
    """The host. `family` is whose ways it has: OpenAI's own, unless it says otherwise."""

    def __init__(
        self,
        answer: Answer,
        *,
        port: int = 0,
        keys: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        embedding_models: Mapping[str, int] = EMBEDDING_MODELS,
        context_window: int = CONTEXT_WINDOW,
        family: Family = FULL,
    ) -> None:
        """`port=0` takes a free one; `embedding_models`: name to dimensions; `context_window`: tokens.

        `models` are those of the family unless they are given.
        """
        super().__init__(
            answer,
            port=port,
            keys=keys if keys is not None else (f"sk-proj-{secrets.token_urlsafe(36)}",),
            models=models if models is not None else family.models,
        )
        self.family = family
        self.embedding_models = dict(embedding_models)
        self.context_window = context_window
        self._embedding_failure: tuple[Reply, float] | None = None
        self._sent = count(1)
        self._conversations: dict[str, list[Item]] = {}  # by the id of the last response
        self._reasons: dict[str, str] = {}  # items made after a reasoning item: their ids to its id
        self._routes: dict[str, tuple[str, Handler]] = {
            "/v1/chat/completions": ("POST", self._chat),
            **({RESPONSES: ("POST", self._respond)} if family.manner == "openai" else {}),
            "/v1/embeddings": ("POST", self._embed),
            "/v1/models": ("GET", self._list_models),
            MODEL_PAGES: ("GET", self._show_model),
        }

    @property
    def base_url(self) -> str:
        """What a client is given as base_url."""
        return f"http://127.0.0.1:{self.port}/v1"

    def fail_embeddings(self, reply: Failure | Hang | Drop | Raw, times: float = 1) -> None:
        """Answers the next `times` embedding requests so: `math.inf` for all of them, 0 to heal."""
        self._embedding_failure = (reply, times)

    def _route(self, http: web.Request) -> Handler:
        path = MODEL_PAGES if http.path.startswith(MODEL_PAGES) else http.path
        if path not in self._routes:
            raise errors.unknown_url(http.method, http.path)
        method, handler = self._routes[path]
        if http.method != method:
            raise errors.wrong_method(http.method, http.path)
        return handler

    def _check_key(self, http: web.Request) -> None:
        scheme, _, key = http.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise errors.no_key()
        if key.strip() not in self.keys:
            raise errors.wrong_key(key.strip())

    async def _read(self, http: web.Request) -> dict[str, Any]:
        return await read_body(http)

    def _failure(self, failure: Failure) -> web.Response:
        return failure_response(failure, self._headers())

    async def _chat(self, http: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        asked = standard(body, self.family)
        check_shape(asked)
        self._check_model(body["model"])
        check_rules(asked, self.context_window, self.family)
        check_family(body, self.family)
        request = parse_chat(body, len(self.requests) + 1, headers_of(http), self.family)
        if (answer := spoiled(request, self.family, len(self.requests))) is not None:
            self.requests.append(request)
            with self.following(request):
                request.trace.status = 200
            return web.json_response(answer, headers=self._headers())

        def made(reply: ModelReply) -> dict[str, Any] | Sequence[bytes]:
            if request.stream:
                return list(stream(request, reply))
            return sloppily(completion(request, reply), self.family)

        return await self._answer(http, request, made)

    async def _respond(self, http: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """POST /v1/responses."""
        check_response_shape(body)
        if body["model"] not in self.models:
            raise errors.no_such_responses_model(body["model"])
        before = body.get("previous_response_id")
        if before is not None and before not in self._conversations:
            raise errors.no_response_before(before)
        items = [*(self._conversations[before] if before is not None else ()), *items_of(body)]
        check_response_rules(body, items, self._reasons)
        request = parse_response(body, items, len(self.requests) + 1, headers_of(http))
        if tokens_of(request) > self.context_window:
            raise errors.input_too_long()

        def whole(reply: ModelReply) -> dict[str, Any]:
            answer = response(request, reply)
            thought, *made = answer["output"] if request.thinking else (None, *answer["output"])
            if thought is not None:
                self._reasons |= {item["id"]: thought["id"] for item in made}
            if answer["store"]:
                self._conversations[answer["id"]] = [*items, *answer["output"]]
            return answer

        return await self._answer(http, request, whole)

    def _check_model(self, model: str) -> None:
        """Raises Refusal unless it is a model that chats."""
        if model in self.embedding_models:
            raise errors.wrong_kind_of_model("sample")
        if model not in self.models:
            raise errors.unknown_model(model)

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

    def _next_embedding_failure(self) -> Reply | None:
        """The failure that the next embedding request is due, if any."""
        if self._embedding_failure is None or self._embedding_failure[1] <= 0:
            return None
        reply, times = self._embedding_failure
        self._embedding_failure = (reply, times - 1)
        return reply

    def _headers(self) -> dict[str, str]:
        return {
            "x-request-id": f"req_{made_up(f'{self.port} {next(self._sent)}', 32)}",
            "openai-version": "2020-10-01",
            "openai-organization": "org-scripted",
        }


def described(model: str) -> dict[str, Any]:
    """A model as /v1/models shows it."""
    return {"id": model, "object": "model", "created": CREATED, "owned_by": "system"}
