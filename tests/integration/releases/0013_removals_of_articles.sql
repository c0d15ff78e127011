insert into removals (document_id, origin, title, sha256, added_at, removed_by, article_id)
    values (10, 'slack://file/F9', '旧資料', 'mno', '2026-11-01 12:00+00', 'U1', 1);
