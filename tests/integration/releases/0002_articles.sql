insert into articles (topic, language, mode, status, moves, heard, job_id, team_id, channel_id, thread_ts,
    permalink, requested_by, outline_version, research, analysis, usage)
values
    ('Go 后端为什么应该从 MD5 迁移到 Argon2id？', 'zh', 'supervised', 'awaiting_outline', 3, 1, null, 'T1',
     'C1', '1700000000.000001', 'https://example.test/p1', 'U1', 1,
     '{"topic": "Go", "findings": [], "sources": [], "gaps": [], "summary": "…"}',
     '{"topic": "Go", "key_points": [], "outline": [{"heading": "为什么不行", "description": "快",
       "source_ids": ["S1"]}], "risks": [], "missing_evidence": [], "needs_more_research": false,
       "summary": "…", "notes": []}',
     '{"requests": 3, "input_tokens": 900, "output_tokens": 90, "cost_usd": null}'),
    ('パスワードの保存', 'ja', 'auto', 'outlining', 2, 0, 1, 'T1', 'C2', '1700000000.000002', null, 'U2', 0,
     null, null, '{"requests": 1, "input_tokens": 9, "output_tokens": 9, "cost_usd": 0.01}');
insert into article_moves (article_id, from_status, to_status, why) values
    (1, null, 'researching', 'requested'), (1, 'researching', 'outlining', '3 findings'),
    (1, 'outlining', 'awaiting_outline', 'outline 1 is ready'),
    (2, null, 'researching', 'requested'), (2, 'researching', 'outlining', '1 finding');
insert into article_versions (article_id, number, draft, markdown, sha256, words)
    values (2, 1, '{"title": "パスワード"}', '# パスワード', 'abc', 1);
insert into article_reviews (article_id, version, by, review)
    values (2, 1, 'offline', '{"decision": "approve"}');
insert into decisions (article_id, on_what, action, text, by, version, state, outcome)
    values (1, 'outline', 'revise', 'name the unit: café', 'U3', 1, 'done', '✓');
insert into outbox (key, article_id, message, revision, sent_revision, ts, on_what, version) values
    ('article:1:outline:1', 1, '{"kind": "outline", "article_id": 1, "language": "zh", "version": 1,
      "sections": [{"heading": "为什么不行", "description": "快", "source_ids": ["S1"]}],
      "missing_evidence": [], "sources": [], "notes": [], "asks": true, "decided": null}',
     1, 1, '1700000000.000003', 'outline', 1),
    ('article:2:note:1', 2, '{"kind": "note", "article_id": 2, "language": "ja",
      "key": "publishing_now", "params": {}, "to": "U2"}', 1, 0, null, null, null);
insert into inbox (key) values ('event:Ev1'), ('message:T1:C1:1700000000.000009');
