"""`digest --post`: the digest by hand, sent here if no other process does."""

import asyncio

from bot.app import Knowledge, digest_of, workflow_of
from bot.sender import Sender
from bot.settings import Settings
from bot.slack import NotNow, Refused, SlackChannel, slack_client
from knowledge.outbox import Outbox

# How long the message may take into Slack, and how often it is looked for.
POST_SECONDS = 60.0
LOOK_SECONDS = 0.1


class NotPosted(Exception):
    """The digest cannot be posted, or has not been yet; the sentence says why."""


async def post_digest(settings: Settings, knowledge: Knowledge) -> str | None:
    """Post the digest now; returns its link, None where Slack gave none. Raises `NotPosted`.

    Its message goes through the outbox. A bot that runs sends it; else this process is the sender until the
    message is in Slack, also of others that wait.
    """
    digest = digest_of(settings, knowledge)
    if digest.channel_id is None:
        raise NotPosted(
            "COPYDESK_DIGEST_CHANNEL is not set: it is the id of the channel for the digest (C…)."
        )
    if not settings.slack_bot_token:
        raise NotPosted("SLACK_BOT_TOKEN is not set: create the app from manifest.yml, put it into .env.")
    slack = SlackChannel(slack_client(settings.slack_bot_token, base_url=settings.slack_api_url))
    if (reason := await why_no_digest(slack, digest.channel_id)) is not None:
        raise NotPosted(f"The digest was not posted: {reason}.")
    key = await digest.post_now()
    if key is None:
        raise NotPosted("The digest was posted less than a minute ago, and not again now.")
    outbox = Outbox(knowledge.pool)
    sender = Sender(outbox, slack, refused=workflow_of(settings, knowledge, slack).slack_refused)
    sending = asyncio.create_task(sender.run())
    try:
        async with asyncio.timeout(POST_SECONDS):
            await _until_posted(outbox, key)
    except TimeoutError:
        raise NotPosted(
            "Slack did not take the digest yet: it is kept, and sent while the bot runs."
        ) from None
    finally:
        sending.cancel()
        await asyncio.wait([sending])
    return (await outbox.fate(key)).permalink


async def why_no_digest(slack: SlackChannel, channel_id: str) -> str | None:
    """What keeps the bot from posting there and how to mend it, None if nothing does."""
    try:
        reason = await slack.why_not_post(channel_id)
    except Refused as error:
        return f"Slack refused to say what {channel_id} is ({error.code})"
    except NotNow as error:
        return f"Slack does not answer ({error})"
    if reason == "channel_archived":
        return f"the channel {channel_id} is archived: set COPYDESK_DIGEST_CHANNEL to another one"
    if reason is not None:
        return f"the bot is not in the channel {channel_id}: type /invite @Copydesk there, or correct the id"
    return None


async def _until_posted(outbox: Outbox, key: str) -> None:
    while not (fate := await outbox.fate(key)).posted:
        if fate.error is not None:
            raise NotPosted(f"The digest was not posted: Slack refused it ({fate.error}).")
        await asyncio.sleep(LOOK_SECONDS)
