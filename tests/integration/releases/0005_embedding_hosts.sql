insert into embedding_refusals (chunk_id, model, reason) values (1, 'text-embedding-3-small', 'zu lang');
insert into embedding_languages values (1, 'zh', '[1,0,0]');
