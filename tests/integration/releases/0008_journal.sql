insert into journal (article_id, step, n, digest, body) values (2, 'analysis', 1, 'abc', '"\u0000 密"');
