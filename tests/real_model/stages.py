"""The stages of an article with a real model, SmolLM2 behind llama.cpp's own server.

Not among the tests that run by themselves: `make test-real-model` fetches the model and runs this file. A
model of 135 million parameters writes nonsense, so what is tested is the wire: schemas are taken, answers are
held to them, and what is wrong with an answer is an `AgentError` that keeps it.
"""

import json
import logging
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
from pydantic_ai.models import override_allow_model_requests

from agents.abilities import Setting
from agents.account import Account
from agents.errors import UNUSABLE
from agents.models import Models, models_from
from agents.patience import Patience
from agents.trial import is_held
from agents.trial_runs import ANALYSIS, REVIEW, RUNS, Run, carried_out
from agents.wire import (
    AnalysisAnswer,
    FindingsAnswer,
    PlanAnswer,
    ReviewAnswer,
    SectionAnswer,
    Wire,
)

log = logging.getLogger(__name__)

RESEARCH, FORMAT, _, DRAFT, PLAN, _ = RUNS
ANSWERS: dict[str, type[Wire]] = {
    "formatter": FindingsAnswer,
    "analyst": AnalysisAnswer,
    "section": SectionAnswer,
    "planner": PlanAnswer,
    "reviewer": ReviewAnswer,
}
SLOW = Patience(silence=280.0, total=280.0, tries=1)
START = 60.0  # seconds until the model is loaded


@pytest.fixture(scope="module")
def address(pytestconfig: pytest.Config) -> Iterator[str]:
    """Of the server, with `/v1`."""
    python = pytestconfig.rootpath / ".venv-real-model" / "bin" / "python"
    if not python.exists():
        pytest.skip("no real model here: `make test-real-model` fetches it")
    script = pytestconfig.rootpath / "tests" / "real_model" / "llama_server.py"
    with subprocess.Popen(
        [python, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it tells of each token
        text=True,
    ) as server:
        assert server.stdout is not None
        late = threading.Timer(START, server.kill)
        late.start()
        address = server.stdout.readline().strip()
        late.cancel()
        assert address.startswith("http://127.0.0.1:"), "the server did not start"
        yield f"{address}/v1"
        server.communicate(timeout=START)


@pytest.fixture
def models(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    with override_allow_model_requests(True):
        yield models_at(address, "native", monkeypatch)


def models_at(address: str, way: Setting, monkeypatch: pytest.MonkeyPatch) -> Models:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return models_from("openai-chat:smollm2", structured_output=way, patience=SLOW)


@pytest.mark.parametrize("way", ["native", "auto"])
async def test_native_output_is_held_to_and_the_prompt_is_not(
    way: Setting, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with override_allow_model_requests(True):
        models = models_at(address, way, monkeypatch)
        async with models.connected():
            assert await is_held(models.writer, Account()) == (way == "native")


@pytest.mark.parametrize("run", [FORMAT, ANALYSIS, DRAFT, PLAN, REVIEW], ids=lambda run: run.tasks[-1])
async def test_a_structured_answer_has_its_shape_whatever_it_says(run: Run, models: Models) -> None:
    account = Account()
    began = time.monotonic()
    async with models.connected():
        done = await carried_out(run, model=models.writer, formatter=models.formatter, account=account)
    log.info(
        "%s: %s, %d answers in %d s. %s",
        run.tasks,
        dict(done.outcomes),
        account.requests,
        time.monotonic() - began,
        done.error or "",
    )
    schema = ANSWERS[run.tasks[-1]]
    assert account.requests
    if done.error is None or not done.error.said:
        return
    assert done.error.code in UNUSABLE
    if done.error.code == "answer_cut_off":
        first = next(iter(schema.model_fields))
        assert "".join(done.error.said.split()).startswith(f'{{"{first}":')
    else:  # a rule of this program's, which no schema says
        schema.model_validate(json.loads(done.error.said))


@pytest.mark.parametrize("run", [RESEARCH, REVIEW], ids=lambda run: run.tasks[-1])
async def test_research_and_an_answer_by_the_prompt_end_in_words_for_people(
    run: Run, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = Account()
    began = time.monotonic()
    with override_allow_model_requests(True):
        models = models_at(address, "auto", monkeypatch)
        async with models.connected():
            done = await carried_out(run, model=models.research, formatter=models.formatter, account=account)
    log.info(
        "%s: %s, %d answers in %d s. %s",
        run.tasks,
        dict(done.outcomes),
        account.requests,
        time.monotonic() - began,
        done.error or "",
    )
    assert account.requests
    assert done.error is None or done.error.code in UNUSABLE
