insert into digests (name, channel_id, cron, timezone) values ('digest', 'C9', '0 9 * * mon', 'Asia/Tokyo');
insert into digest_slots (name, channel_id, slot, period_from, period_to, message_key) values
    ('digest', 'C9', '2026-11-23 09:00', '2026-11-16T00:00Z', '2026-11-23T00:00Z', 'digest:1');
insert into outbox (key, channel_id, message) values ('digest:1', 'C9', '{"kind": "digest"}');
