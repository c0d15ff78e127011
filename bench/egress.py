"""What one article has embedded, and what of it leaves the machine, over 40 kB of documents.

`.venv/bin/python -m bench.egress` runs the real bot with all that it talks to (PostgreSQL, a local Slack, a
scripted OpenAI host for chat and embeddings) on a machine without a network: each packet that would leave it
is counted, of whatever process (`tests.egress`). What is embedded is read from the host's record of requests.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import report
from bench.first_draft import STEP_SECONDS, asked
from bench.report import BenchError
from bench.stage import Stage, open_stage, sample_bytes
from bot.blocks import APPROVE
from bot.local_slack.people import Person
from tests.chaos.process import new_folder
from tests.editorial_office import Office, stage_of
from tests.egress.guard.sitecustomize import LOG
from tests.egress.watch import watched
from tests.scripted_openai.replies import Call, Reply, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

PAGE = Path(__file__).parent.parent / "docs" / "retrieval.md"
TOPICS = {
    "English": "Why should Go backends move from MD5 to Argon2id?",
    "Chinese": "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
}
MODEL, EMBEDDINGS = "gpt-4.1-mini", "text-embedding-3-small"
# As its prompt asks it to: two to four searches, up to four queries each, in more than one language.
QUERIES = (
    ("Argon2id parameters", "MD5 password hashing speed", "Argon2id 参数", "MD5 口令散列"),
    ("migrating password hashes at login", "rehash on login", "登录时迁移散列", "重新散列"),
    ("Argon2id memory cost in Go", "golang.org/x/crypto/argon2", "Go Argon2id 内存", "回滚 迁移"),
)
SECONDS = 900.0
# As the design of this project quotes them, over the same amount of documents; those were not run here.
PEERS = ["the peers*", "", "192–632", "", "1–4"]


@dataclass(frozen=True)
class Count:
    """What one article had embedded."""

    model: str
    language: str
    texts: (
        int  # embedded: its queries, and once an hour a passage, to see whether the model is still the same
    )
    requests: int  # for chat and embeddings, to the host on this machine


@dataclass(frozen=True)
class Counts:
    """One run of the benchmark."""

    passages: int  # of the base, embedded once
    articles: list[Count]


class Researcher:
    """The office, whose researcher searches as often and as broadly as its prompt asks for."""

    def __init__(self) -> None:
        self._office = Office(searches=len(QUERIES))

    def __call__(self, request: ChatRequest) -> Reply:
        done = len(request.tool_results)
        if stage_of(request) == "knowledge_search" and done < len(QUERIES):
            return ToolCalls([Call("knowledge_search", {"queries": [*QUERIES[done]], "k": 10})])
        return self._office(request)


async def count() -> Counts:
    """Raises `BenchError`."""
    host = ScriptedOpenAI(Researcher(), models=(MODEL,), embedding_models={EMBEDDINGS: 1536})
    async with host, open_stage(embeddings="none") as stage:
        ana = stage.slack.add_person("Ana")
        settings = {
            "COPYDESK_EMBEDDING_MODEL": f"openai:{EMBEDDINGS}",
            "COPYDESK_EMBEDDING_BASE_URL": host.base_url,
            "COPYDESK_EMBEDDING_API_KEY": host.api_key,
            "OPENAI_BASE_URL": host.base_url,
            "OPENAI_API_KEY": host.api_key,
            **{name: os.environ[name] for name in ("PYTHONPATH", LOG) if name in os.environ},
        }
        passages = (await stage.knowledge.documents.count()).chunks
        articles = []
        for model in ("offline", f"openai-chat:{MODEL}"):
            async with stage.bot("serve", settings={**settings, "COPYDESK_MODEL": model}):
                await stage.slack.wait_for(lambda: stage.slack.connections, STEP_SECONDS)
                await _all_vectors(stage, passages)
                for language, topic in TOPICS.items():
                    embedded, chats = len(host.embedding_requests), len(host.requests)
                    await _article(stage, ana, topic)
                    texts = sum(len(request.inputs) for request in host.embedding_requests[embedded:])
                    requests = len(host.embedding_requests) - embedded + len(host.requests) - chats
                    articles.append(Count(model, language, texts, requests))
        if host.refusals:
            raise BenchError(f"The host refused a request: {host.refusals[0].message}")
        return Counts(passages, articles)


async def _all_vectors(stage: Stage, passages: int) -> None:
    async with asyncio.timeout(STEP_SECONDS):
        while True:
            if await stage.knowledge.pool.fetchval("select count(*) from chunk_vectors") >= passages:
                return
            await asyncio.sleep(0.1)


async def _article(stage: Stage, ana: Person, topic: str) -> None:
    """Up to its first reviewed draft, with a channel of its own; then it is cancelled."""
    number = stage.slack.workspace.next_number("bench")
    channel = stage.slack.add_channel(f"bench-{number}", [ana, stage.slack.bot])
    await ana.command(channel, "/article", topic)
    await ana.click(await asked(stage, channel, "outline"), APPROVE)
    await asked(stage, channel, "draft")
    [article] = await stage.knowledge.articles.newest(limit=1)
    await ana.say(channel, "cancel", thread_ts=article.thread_ts)
    await stage.slack.wait_for(lambda: not stage.asked(channel, "draft"), STEP_SECONDS)


def describe(counts: Counts, tried: Sequence[str], *, packets: bool) -> str:
    """The figures as Markdown."""
    names = {"offline": "Copydesk, no model", f"openai-chat:{MODEL}": "Copydesk, a model here"}
    rows = [
        [f"{names[one.model]}, {one.language} topic", counts.passages, one.texts, one.requests, len(tried)]
        for one in counts.articles
    ]
    watch = "each packet of each process was watched" if packets else "Python's own sockets were watched"
    return "\n\n".join(
        [
            f"knowledge/sample/ ({sample_bytes():,} bytes), a hosted embedding model whose host is on this "
            f"machine, as the chat model's is where there is one; {watch}; {report.machine()}.",
            report.table(
                [
                    "",
                    "passages, embedded once",
                    "embedded per article",
                    "requests to the host here",
                    "requests that leave the machine",
                ],
                [*rows, PEERS],
            ),
            "\\* as quoted in the design of this project; not run here.",
        ]
    )


async def inside() -> int:
    print(json.dumps(asdict(await count())))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.egress")
    parser.add_argument("--write", action="store_true", help="put the table into docs/retrieval.md")
    parser.add_argument(
        "--inside", action="store_true", help="count here, and print JSON: what it calls itself"
    )
    given = parser.parse_args()
    if given.inside:
        return report.run(inside())
    try:
        with new_folder() as folder:
            done = watched(["-m", "bench.egress", "--inside"], folder=folder, seconds=SECONDS)
        if done.code != 0:
            raise BenchError(done.errors.strip())
        said = json.loads(done.output)
        counts = Counts(said["passages"], [Count(**one) for one in said["articles"]])
        text = describe(counts, done.tried, packets=done.packets)
        print(text)
        if given.write:
            report.write("egress", text, PAGE)
        for one in done.tried:
            print(f"left the machine: {one}", file=sys.stderr)
    except (BenchError, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1
    return int(bool(done.tried))


if __name__ == "__main__":
    sys.exit(main())
