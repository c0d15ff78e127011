"""`python -m bot COMMAND`: reads the command line; `cli` carries it out."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

DEMO_TOPIC = "Why should Go backends move from MD5 to Argon2id?"


def count_of_results(text: str) -> int:
    """`--k`: 1 to 50."""
    if not text.isdigit() or not 1 <= int(text) <= 50:
        raise argparse.ArgumentTypeError("a number from 1 to 50")
    return int(text)


def id_of_article(text: str) -> int:
    """`ID`: a number that an article can have."""
    if not text.isdigit() or not text.isascii() or len(text) > 9:
        raise argparse.ArgumentTypeError("a number, as `articles` lists them")
    return int(text)


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
    search.add_argument("--k", type=count_of_results, default=5, metavar="N", help="1 to 50, default 5")
    search.add_argument("--json", action="store_true")

    articles = commands.add_parser("articles", help="all articles, newest first")
    articles.add_argument("--json", action="store_true")

    article = commands.add_parser("article", help="one article: state and history, or its text")
    article.add_argument("id", type=id_of_article, metavar="ID")
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
        help="also asks each model for a small answer per task, which costs money: about 8 calls, some more "
        "where a better way of asking is looked for, never over 68",
    )
    commands.add_parser("migrate", help="bring the database up to date (every start does too)")
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 failed with one sentence on stderr, 2 wrong usage."""
    usage = parser()
    given = usage.parse_args(arguments)
    if given.command == "ingest" and not given.places and not given.urls:
        usage.error("ingest: name a PATH or URL, or --urls FILE")
    if given.command == "ingest" and not all(place.strip() for place in given.places):
        usage.error("ingest: a PATH is empty; the folder you are in is .")
    try:
        from bot.cli import carry_out  # seconds to import, which help and wrong usage do not wait for

        return carry_out(given)
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
