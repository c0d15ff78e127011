"""Slack's own words for why it refuses, where it matters which: kinds of the errors in its answers."""

# The bot's token is worth nothing (any more): no call will be taken.
TOKEN_REFUSED = frozenset(
    {"invalid_auth", "account_inactive", "token_revoked", "token_expired", "not_authed"}
)

# The bot cannot post in this channel (any more).
CHANNEL_CLOSED = frozenset(
    {
        "not_in_channel",
        "channel_not_found",
        "is_archived",
        "is_inactive",
        "posting_to_channel_denied",
        "restricted_action",
        "restricted_action_non_threadable_channel",
        "restricted_action_read_only_channel",
        "restricted_action_thread_locked",
        "restricted_action_thread_only_channel",
    }
)

# An upload that was completed before, or whose ticket has run out.
NOT_TO_BE_COMPLETED = frozenset({"file_not_found", "file_deleted", "file_update_failed"})

# Answers after which the same call may succeed later.
LATER = frozenset({"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"})

# Of these the reference says that some of the call may have been carried out.
PERHAPS_DONE = frozenset({"internal_error", "fatal_error", "service_unavailable"})
