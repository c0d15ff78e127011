"""What each command does; `__main__` has their arguments. Exit code 0 done, 1 failed."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from agents.errors import AgentError
from bot import app
from bot.app import Knowledge, StartError, open_knowledge, until_stopped
from bot.blocks import draw
from bot.demo import run_demo
from bot.digest_command import NotPosted, post_digest
from bot.doctor import examine
from bot.health import PortError
from bot.local_slack.plain_text import block_text
from bot.logs import set_up_logs
from bot.settings import Settings, SettingsError, read_settings
from bot.telemetry import exporting
from knowledge.addresses import WebAddress, is_web_address
from knowledge.article import Article
from knowledge.database import DatabaseError
from knowledge.embedded import EmbeddedError
from knowledge.ingest_report import IngestProgress, IngestReport
from knowledge.listing import AddressList


class CommandError(Exception):
    """What was asked for cannot be done; the sentence says why."""


def carry_out(given: argparse.Namespace) -> int:
    """Reads the settings and runs the command. Exit code: 0 done, 1 failed with one sentence on stderr."""
    try:
        # The demo must not touch, or be touched by, what this machine is set up for.
        if given.command == "demo":
            return asyncio.run(demo(given.topic, yes=given.yes, knowledge=given.knowledge, model=given.model))
        settings = read_settings()
        set_up_logs(settings.log_level, settings.log_format)
        match given.command:
            case "serve":
                with exporting():
                    return asyncio.run(serve(settings, worker=not given.no_worker))
            case "worker":
                with exporting():
                    return asyncio.run(worker(settings))
            case "ingest":
                return asyncio.run(
                    ingest(settings, given.places, given.urls, prune=given.prune, as_json=given.json)
                )
            case "search":
                return asyncio.run(search(settings, given.query, k=given.k, as_json=given.json))
            case "articles":
                return asyncio.run(articles(settings, as_json=given.json))
            case "article":
                return asyncio.run(
                    article(
                        settings,
                        given.id,
                        version=given.version,
                        as_json=given.json,
                        as_markdown=given.markdown,
                    )
                )
            case "digest":
                return asyncio.run(digest(settings, post=given.post, as_json=given.json))
            case "doctor":
                return asyncio.run(doctor(settings, try_models=given.try_models))
            case _:
                return asyncio.run(migrate(settings))
    except (
        SettingsError,
        StartError,
        PortError,
        NotPosted,
        AgentError,
        DatabaseError,
        EmbeddedError,
        CommandError,
    ) as error:
        print(error, file=sys.stderr)
        return 1


async def demo(topic: str, *, yes: bool, knowledge: Path | None, model: str | None) -> int:
    scripted = yes or not sys.stdin.isatty()
    code = await until_stopped(run_demo(topic, scripted=scripted, knowledge=knowledge, model=model))
    return 130 if code is None else code  # stopped: as a shell says it of Ctrl-C


async def serve(settings: Settings, *, worker: bool) -> int:
    app.check_set(settings)  # before a database is started for nothing

    async def run() -> None:
        async with open_knowledge(settings) as knowledge:
            await app.serve(
                settings, knowledge, worker=worker, ready=lambda: print("Copydesk is ready.", flush=True)
            )

    await until_stopped(run())
    return 0


async def worker(settings: Settings) -> int:
    async def run() -> None:
        async with open_knowledge(settings) as knowledge:
            await app.work_alone(
                settings, knowledge, ready=lambda: print("Copydesk's worker is ready.", flush=True)
            )

    await until_stopped(run())
    return 0


async def ingest(
    settings: Settings, given: Sequence[str], lists: Sequence[Path], *, prune: bool, as_json: bool
) -> int:
    places = [WebAddress(each) if is_web_address(each) else Path(each) for each in given]
    async with open_knowledge(settings) as knowledge:
        try:
            report = await ingest_with_bar(knowledge, [*places, *map(AddressList, lists)], prune=prune)
        except asyncio.CancelledError:
            print("Stopped: what was added stays, and the same command goes on.", file=sys.stderr)
            raise
        without_vector = await knowledge.without_vector()
    if as_json:
        print(report.model_dump_json())
    else:
        print(ingest_summary(report))
        if report.chunks and without_vector:
            print("Searchable now by words; vectors follow in the background while the bot runs.")
    return 0 if report.added + report.updated + report.unchanged else 1


async def ingest_with_bar(
    knowledge: Knowledge, places: Sequence[Path | WebAddress | AddressList], *, prune: bool
) -> IngestReport:
    """Ingest with a progress bar on stderr, where there is a terminal."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[chunks]} passages"))
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("ingest", total=None, chunks=0)

        def progress(done: IngestProgress) -> None:
            bar.update(task, completed=done.done, total=done.total, chunks=done.chunks)

        return await knowledge.documents.ingest(places, prune=prune, progress=progress)


def ingest_summary(report: IngestReport) -> str:
    """Two lines at most, or one more for each path that failed."""
    lines = [
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{report.removed} removed; {report.chunks} passages written."
    ]
    lines += [f"Not added: {failed.path} ({failed.reason})" for failed in report.failed]
    return "\n".join(lines)


async def search(settings: Settings, query: str, *, k: int, as_json: bool) -> int:
    async with open_knowledge(settings) as knowledge:
        passages = await knowledge.search.search(query, k=k)
    if as_json:
        print_json([passage.model_dump(mode="json") for passage in passages])
        return 0
    for passage in passages:
        print(f"{passage.rank}. {passage.title} · {passage.heading} ({passage.score:.2f}, {passage.lang})")
        print(f"   {passage.url or passage.path or ''}")
        print("   " + " ".join(passage.text.split())[:300] + "\n")
    if not passages:
        print("Nothing in the knowledge base is about that.")
    return 0


async def articles(settings: Settings, *, as_json: bool) -> int:
    async with open_knowledge(settings) as knowledge:
        newest = await knowledge.articles.newest()
    if as_json:
        print_json([summary_json(article) for article in newest])
        return 0
    for article in newest:
        print(f"#{article.id}  {article.status:<17} {article.created_at:%Y-%m-%d %H:%M}  {article.topic}")
    if not newest:
        print("No article yet: type /article TOPIC in Slack, or try `make demo`.")
    return 0


async def article(
    settings: Settings, article_id: int, *, version: int | None, as_json: bool, as_markdown: bool
) -> int:
    async with open_knowledge(settings) as knowledge:
        found = await knowledge.articles.get(article_id)
        if found is None:
            raise CommandError(f"There is no article {article_id}; `articles` lists them.")
        full = await article_json(knowledge, found)
        versions = await knowledge.articles.versions(article_id)
    wanted = [one for one in versions if version is None or one["number"] == version]
    if version is not None and not wanted:
        raise CommandError(f"Article {article_id} has no draft {version}; it has {len(versions)}.")
    if as_json:
        print_json(full if version is None else {**full, "draft": wanted[-1]["draft"]})
    elif as_markdown:
        if not wanted:
            raise CommandError(f"Article {article_id} has no draft yet ({found.status}).")
        print(wanted[-1]["markdown"], end="")
    else:
        print(f"#{found.id}  {found.topic}\n{found.status}, for {found.requested_by}")
        for move in full["history"]:
            print(f"  {move['at']:%Y-%m-%d %H:%M:%S}  {move['to']:<17} {move['why']}")
    return 0


async def digest(settings: Settings, *, post: bool, as_json: bool) -> int:
    async with open_knowledge(settings) as knowledge:
        next_one = app.digest_of(settings, knowledge)
        record = await next_one.preview()
        link = await post_digest(settings, knowledge) if post else None
    if as_json:
        print_json(next_one.json(record))
    else:
        print("\n".join(map(block_text, draw(next_one.message(record)).blocks)))
    if post:
        print(f"Posted in {settings.digest_channel}: {link or 'Slack has given no link.'}", file=sys.stderr)
    return 0


async def doctor(settings: Settings, *, try_models: bool) -> int:
    broken = False
    async with aclosing(examine(settings, try_models=try_models)) as findings:
        async for finding in findings:
            broken |= finding.mark == "✗"
            print(f"{finding.mark} {finding.text}", flush=True)
    return int(broken)


async def migrate(settings: Settings) -> int:
    async with open_knowledge(settings):
        print("The database is up to date.")
    return 0


def summary_json(article: Article) -> dict[str, Any]:
    """The shape of `articles --json`."""
    return {
        "id": article.id,
        "topic": article.topic,
        "status": article.status,
        "channel": article.channel_id,
        "thread_ts": article.thread_ts,
        "permalink": article.permalink,
        "outline_version": article.outline_version,
        "version": article.version,
        "mode": article.mode,
        "requested_by": article.requested_by,
        "created_at": article.created_at,
        "updated_at": article.updated_at,
    }


async def article_json(knowledge: Knowledge, article: Article) -> dict[str, Any]:
    """The shape of `article --json`."""
    versions = await knowledge.articles.versions(article.id)
    error = article.error
    return {
        **summary_json(article),
        "research": article.research,
        "analysis": article.analysis,
        "draft": article.draft,
        "reviews": await knowledge.articles.reviews(article.id),
        "decisions": [
            {
                "on": decision.on,
                "action": decision.action,
                "text": decision.text,
                "section": decision.section,
                "by": decision.by,
                "version": decision.version,
                "at": decision.at,
                "state": decision.state,
                "outcome": decision.outcome,
            }
            for decision in article.decisions
        ],
        "approved_by": article.approved_by,
        "stopped_by": article.stopped_by,
        "error": None if error is None else {"leg": error.leg, "code": error.code, "message": error.message},
        "review_count": article.review_count,
        "research_rounds": article.research_rounds,
        "usage": article.usage,
        "versions": [
            {name: version[name] for name in ("number", "sha256", "created_at", "words")}
            for version in versions
        ],
        "history": await knowledge.articles.history(article.id),
    }


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_utc))


def _utc(value: object) -> str:
    """Times as ISO 8601 in UTC."""
    assert isinstance(value, datetime), type(value)
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
