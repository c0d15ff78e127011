"""`/article …`: acknowledged once it is written down; the answer goes through the response URL."""

from collections.abc import Awaitable
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond

from bot.arrivals import Arrivals, CancelTyped, Commission, NotKept
from bot.background import Background
from bot.blocks import help_text, list_text
from bot.command import (
    LONGEST_SHOWN,
    BadCommand,
    CancelArticle,
    ForgetSource,
    Help,
    LearnPage,
    ListArticles,
    ListSources,
    ShowStatus,
    StartArticle,
    read_command,
    spoken_language,
    topic_language,
)
from bot.fitting import shorten
from bot.learning import Learn
from bot.sources import Shown, Sources
from bot.texts import say
from bot.workflow import Requested
from knowledge.article import Article, Mode
from knowledge.articles import Articles
from knowledge.language import Language

LISTED = 20


def register(
    app: AsyncApp,
    arrivals: Arrivals,
    articles: Articles,
    sources: Sources,
    background: Background,
    *,
    mode: Mode,
    language: Language | None,
) -> None:
    """`language` is the one that is set for all articles; None = each speaks its topic's."""

    @app.command("/article")
    async def article_command(ack: AsyncAck, command: dict[str, Any], respond: AsyncRespond) -> None:
        text = command.get("text", "")
        asked = read_command(text)
        spoken = language or spoken_language(text, asked)

        async def fault() -> None:
            await respond(text=say(spoken, "not_written_down"), response_type="ephemeral")

        async def written_down(what: CancelTyped | Commission | Learn, *, meanwhile: str = "") -> None:
            """Before the ack, which makes Slack forget it; `meanwhile` is what the person sees at once."""
            try:
                await arrivals.keep(what)
            except NotKept:
                await ack(text=say(spoken, "not_written_down"))
                return
            await ack(text=meanwhile)

        def shown(showing: Awaitable[Shown]) -> None:
            async def show() -> None:
                answer, blocks = await showing
                await respond(text=answer, blocks=blocks or None, response_type="ephemeral")

            background.start(show(), on_fault=fault)

        match asked:
            case Help():
                await ack(text=help_text(spoken))
            case BadCommand(key, params):
                await ack(text=say(spoken, key, **params))
            case ListArticles() | ShowStatus() as which:
                await ack()
                in_work = isinstance(which, ShowStatus)
                team_id, user_id = command["team_id"], command["user_id"]
                newest = articles.newest(limit=LISTED, team_id=team_id, user_id=user_id, in_work=in_work)
                background.start(_list(newest, spoken, respond), on_fault=fault)
            case CancelArticle(article_id):
                await written_down(
                    CancelTyped(
                        article_id,
                        user_id=command["user_id"],
                        team_id=command["team_id"],
                        key=f"command:{command['trigger_id']}",
                        language=spoken,
                        respond_to=command["response_url"],
                    )
                )
            case LearnPage(url):
                learn = Learn(
                    user_id=command["user_id"],
                    channel_id=command["channel_id"],
                    pages=(url,),
                    message=None,
                    # An address says nothing of who types it, but the word in front of it may.
                    language=language or (spoken if spoken != "en" else None),
                    respond_to=command["response_url"],
                    key=f"command:{command['trigger_id']}",
                )
                await written_down(learn, meanwhile=say(spoken, "learning", url=shorten(url, LONGEST_SHOWN)))
            case ListSources(None):
                await ack()
                shown(sources.of_base(spoken))
            case ListSources(int(article_id)):
                await ack()
                team_id, user_id = command["team_id"], command["user_id"]
                shown(sources.of_article(spoken, article_id, team_id=team_id, user_id=user_id))
            case ForgetSource(document_id):
                await ack()
                shown(sources.ask_to_forget(spoken, document_id, user_id=command["user_id"]))
            case StartArticle(topic, auto):
                requested = Requested(
                    topic=topic,
                    language=language or topic_language(topic),
                    mode=Mode.AUTO if auto else mode,
                    anyway=False,
                    team_id=command["team_id"],
                    channel_id=command["channel_id"],
                    user_id=command["user_id"],
                    command=f"{command['command']} {text}".strip(),
                    claim=f"command:{command['trigger_id']}",
                )
                await written_down(Commission(requested, command["response_url"]))


async def _list(newest: Awaitable[list[Article]], language: Language, respond: AsyncRespond) -> None:
    await respond(text=list_text(language, await newest), response_type="ephemeral")
