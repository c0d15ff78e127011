"""`python -m bot COMMAND`: reads the command line and the settings, and calls the command."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agents.errors import AgentError
from agents.trial import MOST_CALLS, USUAL_CALLS
from bot import cli
from bot.app import StartError
from bot.digest_command import NotPosted
from bot.health import PortError
from bot.logs import set_up_logs
from bot.settings import SettingsError, read_settings
from bot.telemetry import exporting
from knowledge.database import DatabaseError
from knowledge.embedded import EmbeddedError

DEMO_TOPIC = "Why should Go backends move from MD5 to Argon2id?"


def parser() -> argparse.ArgumentParser:
    """The commands of the design, each with its own `--help`."""
    root = argparse.ArgumentParser(
        prog="python -m bot",
        description="Copydesk: a topic typed in Slack becomes a reviewed, cited article.",
    )
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="the whole job on this machine, with no account and no key")
    demo.add_argument("topic", nargs="?", default=DEMO_TOPIC, metavar="TOPIC")
    demo.add_argument("--yes", action="store_true", help="scripted replies, also on a terminal")
    demo.add_argument("--knowledge", type=Path, metavar="PATH", help="a folder or file instead of the sample")
    demo.add_argument("--model", metavar="NAME", help="a PydanticAI model name instead of the offline model")

    serve = commands.add_parser("serve", help="the bot: Slack, worker and sender in one process")
    serve.add_argument("--no-worker", action="store_true", help="leave the work on articles to `worker`")
    commands.add_parser("worker", help="only works on articles; run as many as you like")

    ingest = commands.add_parser("ingest", help="add files, folders and web pages to the knowledge base")
    ingest.add_argument(
        "places",
        nargs="*",
        metavar="PATH_OR_URL",
        help="a file, a folder, or the address of a page or sitemap",
    )
    ingest.add_argument(
        "--urls",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="a text file with an address on each line",
    )
    ingest.add_argument(
        "--prune",
        action="store_true",
        help="forget files that are gone from the folders, and pages that are gone or not listed any more",
    )
    ingest.add_argument("--json", action="store_true", help="the summary as JSON")

    search = commands.add_parser("search", help="what the research agent would see")
    search.add_argument("query", metavar="QUERY")
    search.add_argument("--k", type=cli.count_of_results, default=5, metavar="N", help="1 to 50, default 5")
    search.add_argument("--json", action="store_true")

    articles = commands.add_parser("articles", help="all articles, newest first")
    articles.add_argument("--json", action="store_true")

    article = commands.add_parser("article", help="one article: state and history, or its text")
    article.add_argument("id", type=int, metavar="ID")
    article.add_argument("--version", type=int, metavar="N", help="draft N instead of the latest")
    how = article.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true")
    how.add_argument("--markdown", action="store_true", help="the draft as a file")

    digest = commands.add_parser("digest", help="what the next digest would hold, up to now")
    digest.add_argument("--post", action="store_true", help="post it now; the next one begins here")
    digest.add_argument("--json", action="store_true")

    doctor = commands.add_parser("doctor", help="checks settings, database, knowledge, Slack and models")
    doctor.add_argument(
        "--try-models",
        action="store_true",
        help="also asks each model for a small answer per task, which costs money: about "
        f"{USUAL_CALLS} calls, some more where a better way of asking is looked for, never over {MOST_CALLS}",
    )
    commands.add_parser("migrate", help="bring the database up to date (every start does too)")
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 failed with one sentence on stderr, 2 wrong usage."""
    usage = parser()
    given = usage.parse_args(arguments)
    if given.command == "ingest" and not given.places and not given.urls:
        usage.error("ingest: name a PATH or URL, or --urls FILE")
    try:
        # The demo must not touch, or be touched by, what this machine is set up for.
        if given.command == "demo":
            return asyncio.run(
                cli.demo(given.topic, yes=given.yes, knowledge=given.knowledge, model=given.model)
            )
        settings = read_settings()
        set_up_logs(settings.log_level, settings.log_format)
        match given.command:
            case "serve":
                with exporting():
                    return asyncio.run(cli.serve(settings, worker=not given.no_worker))
            case "worker":
                with exporting():
                    return asyncio.run(cli.worker(settings))
            case "ingest":
                return asyncio.run(
                    cli.ingest(settings, given.places, given.urls, prune=given.prune, as_json=given.json)
                )
            case "search":
                return asyncio.run(cli.search(settings, given.query, k=given.k, as_json=given.json))
            case "articles":
                return asyncio.run(cli.articles(settings, as_json=given.json))
            case "article":
                return asyncio.run(
                    cli.article(
                        settings,
                        given.id,
                        version=given.version,
                        as_json=given.json,
                        as_markdown=given.markdown,
                    )
                )
            case "digest":
                return asyncio.run(cli.digest(settings, post=given.post, as_json=given.json))
            case "doctor":
                return asyncio.run(cli.doctor(settings, try_models=given.try_models))
            case _:
                return asyncio.run(cli.migrate(settings))
    except (
        SettingsError,
        StartError,
        PortError,
        NotPosted,
        AgentError,
        DatabaseError,
        EmbeddedError,
        cli.CommandError,
    ) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough (`| head`); what is left must not be written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
