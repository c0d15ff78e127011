insert into procrastinate_workers default values;
insert into procrastinate_jobs (queue_name, task_name, lock, args, status)
    values ('articles', 'copydesk.leg', 'article:2', '{"article_id": 2, "moves": 2}', 'todo');
insert into procrastinate_periodic_defers (task_name, defer_timestamp, job_id, periodic_id)
    values ('copydesk.rescue', 1790000000, null, '');
