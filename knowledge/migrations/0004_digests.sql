-- The digest: how it is set up, what was posted of it, and messages that belong to no article.

create table digests (
    name       text        primary key,
    channel_id text        not null,
    cron       text        not null,
    timezone   text        not null,
    since      timestamptz not null default now()  -- set up like this since then: no slot before it is posted
);

-- Who inserts a slot posts it.
create table digest_slots (
    name        text        not null,
    channel_id  text        not null,
    slot        timestamp   not null,  -- as the clock on the wall shows it: an hour that comes twice is one slot
    period_from timestamptz not null,
    period_to   timestamptz not null,
    message_key text        not null,  -- in the outbox; what Slack refused there has not been told to anybody
    posted_at   timestamptz not null default now(),
    primary key (name, channel_id, slot)
);

create index article_moves_at on article_moves (at);

-- A message is an article's, in its thread, or a channel's.
alter table outbox alter column article_id drop not null;
alter table outbox add column channel_id text;
alter table outbox add constraint outbox_belongs check ((article_id is null) <> (channel_id is null));
