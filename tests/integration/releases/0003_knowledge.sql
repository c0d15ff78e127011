insert into documents (origin, path, kind, title, lang, sha256, size, index_version, text)
    values ('/docs/a.md', 'a.md', 'markdown', '密码', 'zh', 'abc', 30, 1, 'Argon2id 需要大量内存。');
insert into chunks (document_id, position, heading, text, start_offset, end_offset, lang)
    values (1, 0, '密码', 'Argon2id 需要大量内存。', 0, 15, 'zh');
insert into chunk_words values (1, '{1:0.5,7:0.25}/536870912');
insert into terms values (1, 1), (-1, 1);
insert into embedding_models (name, dimensions) values ('bundled', 3);
insert into chunk_vectors values (1, 1, 'zh', '[1,0,0]');
insert into embedding_means values (1, 'zh', 1, '[1,0,0]');
