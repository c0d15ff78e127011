-- Search in large bases, and a change of the embedding model during which the old vectors serve.

-- For each term, the chunks that have it: a search by words reads these lists instead of every row of chunk_words.
-- Made in the background from chunk_words, which stays what is true: a segment is a run of chunk ids, and the
-- segments cover all ids up to the last one's end. What a chunk id stands for never changes, so a list is never
-- rewritten; chunks that are gone are sorted out when a search looks at them.
create table word_segments (
    id          integer generated always as identity primary key,
    first_chunk integer not null unique,
    last_chunk  integer not null,
    chunks      integer not null              -- when it was made
);

create table word_lists (
    segment_id integer not null references word_segments on delete cascade,
    term       integer not null,
    entries    bytea   not null,              -- chunk id - first_chunk and weight, two bytes each, chunk after chunk
    primary key (segment_id, term)
) with (toast_tuple_target = 8160);
alter table word_lists alter column entries set storage external;  -- packing and unpacking costs more than it saves

-- When every chunk had a vector of this model, or was refused one. Until then the model before it serves.
alter table embedding_models add column complete_at timestamptz;
update embedding_models set complete_at = now();
