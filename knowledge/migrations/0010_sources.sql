-- Sources of more kinds, from more places: who added them and from where, whose they are, and what was removed.

alter table documents drop constraint documents_kind_check;
alter table documents add constraint documents_kind_check
    check (kind in ('markdown', 'text', 'pdf', 'code', 'web', 'docx'));  -- web: HTML, from a file too

alter table documents add column collection text not null default 'base';
alter table documents add column added_by text;    -- a person's Slack id; null = the command line
alter table documents add column added_from text;  -- where in Slack: a permalink

-- A source of this article alone; null = of the base, for every article.
alter table documents add column article_id integer references articles on delete cascade;
alter table documents drop constraint documents_origin_key;
alter table documents add constraint documents_origin_key unique nulls not distinct (origin, article_id);
create index documents_article on documents (article_id) where article_id is not null;

-- Of a page: the sitemap or list of addresses that named it, which --prune asks whether it still does; and what
-- its server called this version (HTTP's ETag and Last-Modified), so that an unchanged page is not sent again.
alter table documents add column listed_in text;
alter table documents add column etag text;
alter table documents add column last_modified text;
create index documents_listed_in on documents (listed_in) where listed_in is not null;

-- What people took out of the base, for whoever asks later.
create table removals (
    id          integer generated always as identity primary key,
    document_id integer     not null,  -- that it had
    origin      text        not null,
    title       text        not null,
    url         text,
    sha256      text        not null,
    added_by    text,
    added_at    timestamptz not null,
    removed_by  text,                  -- a person's Slack id; null = the command line
    removed_from text,                 -- where in Slack: a permalink
    removed_at  timestamptz not null default now()
);
