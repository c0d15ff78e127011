-- A worker had made lists of the words of the chunks, and all vectors of the model.
insert into word_segments (first_chunk, last_chunk, chunks) values (1, 1, 1);
insert into word_lists (segment_id, term, entries) values (1, 7, '\x0000003c'), (1, 9, '\x00000040');
update embedding_models set complete_at = '2026-11-01 12:00+00';
