-- What people shared in an article's thread; of the base where it was known already, or was added to it since.
create table shared_sources (
    article_id  integer     not null references articles on delete cascade,
    document_id integer     not null references documents on delete cascade,
    shared_at   timestamptz not null default now(),
    read        boolean     not null default false,  -- by a round of research that has ended since
    primary key (article_id, document_id)
);
create index shared_sources_document on shared_sources (document_id);
