-- A page that somebody added in Slack, a source of one article alone, and one that was taken out again.
insert into documents (origin, url, kind, title, lang, sha256, size, index_version, text, added_by, added_from, etag)
    values ('https://example.com/argon2', 'https://example.com/argon2', 'web', 'パスワード', 'ja', 'def', 20, 2,
        'メモリを多く使います。', 'U1', 'https://local.slack/archives/C1/p1', '"1"');
insert into documents (origin, kind, title, lang, sha256, size, index_version, text, added_by, article_id)
    values ('slack:F1', 'docx', 'Notes', 'en', 'ghi', 20, 2, 'Argon2id needs memory.', 'U1', 1);
insert into removals (document_id, origin, title, sha256, added_at, removed_by)
    values (9, '/docs/old.md', '旧', 'jkl', '2026-11-01 12:00+00', 'U1');
