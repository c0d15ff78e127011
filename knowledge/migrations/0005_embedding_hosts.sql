-- Embedding models at hosts: which are in use, their languages, and the passages that a host refused.

-- When a worker last had this model: vectors of one that nobody has used for long are removed.
alter table embedding_models add column used_at timestamptz not null default now();

create table embedding_refusals (
    chunk_id   integer     not null references chunks on delete cascade,
    model      text        not null,            -- as embedding_models.name, which it may not be in yet
    reason     text        not null,            -- the host's words
    refused_at timestamptz not null default now(),
    primary key (chunk_id, model)
);

-- What a model's vectors of reference texts have in common in one language, measured once. None for the bundled
-- model: its means come with the code.
create table embedding_languages (
    model_id smallint not null references embedding_models on delete cascade,
    lang     text     not null,
    mean     vector   not null,
    primary key (model_id, lang)
);
