insert into arrivals (key, what, due_at) values ('message:T1:C1:1700000000.000010', '{"kind": "x"}', now());
update outbox set begun_at = now(), begun_revision = 1 where key = 'article:2:note:1';
