-- The knowledge base: documents, the chunks they are cut into, and what search needs to find these.

create table documents (
    id            integer generated always as identity primary key,
    origin        text        not null unique,  -- what was ingested and makes it the same document: absolute path or URL
    path          text,                         -- the path as it was given to ingest; null for a web page
    url           text,                         -- where readers find it
    kind          text        not null check (kind in ('markdown', 'text', 'pdf', 'code', 'web')),
    title         text        not null,
    lang          text        not null check (lang in ('en', 'zh', 'ja')),
    published     date,
    sha256        text        not null,         -- of the bytes as read
    size          integer     not null,         -- in bytes
    index_version integer     not null,         -- of the code that cut it: a newer code cuts it again
    text          text        not null,         -- what offsets of chunks count in, line ends \n
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now()
);
create index documents_sha256 on documents (sha256);

create table chunks (
    id           integer generated always as identity primary key,
    document_id  integer not null references documents on delete cascade,
    position     integer not null,              -- 0 is the document's first
    heading      text    not null,              -- title > h1 > h2
    text         text    not null,              -- the document's text from start_offset to end_offset, verbatim
    start_offset integer not null,              -- in characters
    end_offset   integer not null,
    lang         text    not null check (lang in ('en', 'zh', 'ja')),
    unique (document_id, position) deferrable initially deferred  -- an edit moves the chunks below it
);

-- What words are found by. Beside the chunks, not in them: every search reads all of this table and no text.
create table chunk_words (
    chunk_id integer primary key references chunks on delete cascade,
    words    sparsevec(536870912) not null      -- hash of a term -> the document's side of BM25, without idf
) with (toast_tuple_target = 8160);             -- the longest rows stay in the table: fetching them apart is slow

create table terms (
    term   integer primary key,                 -- hash; -1 is what every chunk has
    chunks integer not null                     -- how many chunks have it
);

create table embedding_models (
    id         smallint generated always as identity primary key,
    name       text     not null unique,
    dimensions integer  not null
);

create table chunk_vectors (
    model_id smallint not null references embedding_models on delete cascade,
    chunk_id integer  not null references chunks on delete cascade,
    lang     text     not null,                 -- the chunk's: its language's mean is subtracted
    vector   halfvec  not null,                 -- length 1, as the model gave it
    primary key (model_id, chunk_id)
) with (toast_tuple_target = 8160);
create index chunk_vectors_chunk on chunk_vectors (chunk_id);

create table embedding_means (
    model_id smallint not null references embedding_models on delete cascade,
    lang     text     not null,
    chunks   integer  not null,                 -- how many vectors the mean is of
    mean     vector   not null,
    primary key (model_id, lang)
);
