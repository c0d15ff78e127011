"""What is counted for whoever watches the bot, by OpenTelemetry's API: nothing happens where nobody does.

Each is told at the place where it happens. Attributes are few and closed: no ids, no words of people.
"""

from opentelemetry import metrics

_meter = metrics.get_meter("copydesk")

# Articles by `from` and `to`, their states; the ends are `to` published, cancelled and failed.
article_moves = _meter.create_counter(
    "copydesk.article.moves", description="Moves of articles between states"
)

# `at` arrival (it was written down before) or effect (it had been carried out before).
duplicates_dropped = _meter.create_counter(
    "copydesk.duplicates.dropped", description="Second deliveries of Slack that did nothing"
)

# `of` model, search or web.
replays = _meter.create_counter(
    "copydesk.journal.replays", description="Calls that were finished before a crash and were not made again"
)

# `model`, and `why`, the kind of error.
model_retries = _meter.create_counter(
    "copydesk.model.retries", description="Requests to a model's host that were made again"
)

# `kind` of message, and `how`: posted, edited, or found (it was there, its answer had been lost).
messages_sent = _meter.create_counter("copydesk.messages.sent", description="Messages that are in Slack")

# `why`: unsure (Slack may have it), later (Slack wants it later) or refused.
messages_not_sent = _meter.create_counter(
    "copydesk.messages.not_sent", description="Tries of messages that did not end with it in Slack"
)

# `reason`.
requests_refused = _meter.create_counter(
    "copydesk.slack.requests_refused", description="Requests to /slack/events that were not taken"
)

# `leg`, and `end`: the state it led to, or the fault.
leg_seconds = _meter.create_histogram("copydesk.leg.duration", unit="s", description="How long legs take")
