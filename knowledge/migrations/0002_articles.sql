-- Articles, what people said of them, every version, and what goes to and comes from Slack.

create table articles (
    id              integer generated always as identity primary key,
    topic           text        not null,
    language        text        not null check (language in ('en', 'zh', 'ja')),
    mode            text        not null check (mode in ('supervised', 'auto')),
    status          text        not null,
    moves           integer     not null default 0,   -- the fence: every move adds 1
    heard           integer     not null default 0,   -- decision rows so far
    job_id          bigint,                           -- the leg at work, to abort it on cancel
    team_id         text        not null,
    channel_id      text        not null,
    thread_ts       text,                             -- the status message, once it is posted
    permalink       text,
    requested_by    text        not null,
    outline_version integer     not null default 0,
    version         integer     not null default 0,
    research        jsonb,
    analysis        jsonb,
    draft           jsonb,
    review          jsonb,
    review_count    integer     not null default 0,
    research_rounds integer     not null default 0,
    approved_by     text,
    stopped_by      text,
    error           jsonb,
    usage           jsonb       not null,
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now()
);
create unique index articles_thread on articles (channel_id, thread_ts);

create table article_moves (
    id          bigint generated always as identity primary key,
    article_id  integer     not null references articles on delete cascade,
    from_status text,
    to_status   text        not null,
    why         text        not null,
    at          timestamptz not null default now()
);
create index article_moves_article on article_moves (article_id);

create table article_versions (
    article_id integer     not null references articles on delete cascade,
    number     integer     not null,
    draft      jsonb       not null,
    markdown   text        not null,   -- the file as it was shown
    sha256     text        not null,
    words      integer     not null,
    created_at timestamptz not null default now(),
    primary key (article_id, number)
);

create table article_reviews (
    id         bigint generated always as identity primary key,
    article_id integer     not null references articles on delete cascade,
    version    integer     not null,
    by         text        not null,
    review     jsonb       not null,
    created_at timestamptz not null default now()
);
create index article_reviews_article on article_reviews (article_id);

-- Words, buttons and modals end in the same row.
create table decisions (
    id         bigint generated always as identity primary key,
    article_id integer     not null references articles on delete cascade,
    on_what    text        not null check (on_what in ('outline', 'draft')),
    action     text        not null,
    text       text        not null,
    section    integer,
    by         text        not null,
    version    integer     not null,
    state      text        not null check (state in ('waiting', 'taken', 'done')),
    outcome    text,
    at         timestamptz not null default now()
);
create index decisions_article on decisions (article_id);

-- One row is one logical Slack message. An edit raises `revision`; the sender brings `sent_revision` up to it.
create table outbox (
    id            bigint generated always as identity primary key,
    key           text        not null unique,
    article_id    integer     not null references articles on delete cascade,
    message       jsonb       not null,
    revision      integer     not null default 1,
    sent_revision integer     not null default 0,
    ts            text,                             -- Slack's name for it, once it is posted
    permalink     text,
    attempts      integer     not null default 0,   -- of the current revision
    not_before    timestamptz not null default now(),
    error         text,                             -- why it was given up, null while it is not
    on_what       text check (on_what in ('outline', 'draft')),
    version       integer,                          -- with on_what: what people are asked to decide on
    created_at    timestamptz not null default now()
);
create index outbox_unsent on outbox (article_id, id) where sent_revision < revision and error is null;
create index outbox_asked on outbox (article_id) where on_what is not null;

create function outbox_changed() returns trigger language plpgsql as $$
begin
    perform pg_notify('outbox', new.article_id::text);
    return null;
end $$;
create trigger outbox_changed after insert or update of revision on outbox
    for each row execute function outbox_changed();

-- Each event of Slack is claimed here before it has any effect.
create table inbox (
    key         text primary key,
    received_at timestamptz not null default now()
);
