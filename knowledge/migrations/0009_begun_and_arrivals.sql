-- What it takes to post once, whatever becomes of Slack's answer, and to lose nothing that was acknowledged.

-- A try to post a message whose outcome is not known: it is looked for in Slack before the next one.
alter table outbox add column begun_at timestamptz;
alter table outbox add column begun_revision integer;  -- what that try posts
alter table outbox add column file_id text;            -- of a file: Slack's name for it, before it is shared

-- What people said or clicked, from before it is acknowledged until it is carried out.
create table arrivals (
    id         bigint generated always as identity primary key,
    key        text        not null unique,  -- the same for every delivery of it
    what       jsonb       not null,
    attempts   integer     not null default 0,
    due_at     timestamptz not null,         -- from then on it is anybody's: nobody works on it any more
    arrived_at timestamptz not null default now()
);
create index arrivals_due on arrivals (due_at);
