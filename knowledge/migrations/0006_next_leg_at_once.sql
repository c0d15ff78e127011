-- A leg is queued by the move that ends the one before, so it is announced while that one still holds the
-- article's lock, and a worker finds nothing to do: it would look again two seconds later. So it is announced
-- once more when the lock is free, as procrastinate announces a new job.
create function lock_released() returns trigger language plpgsql as $$
declare
    waiting record;
    payload text;
begin
    select id, queue_name into waiting from procrastinate_jobs
    where lock = old.lock and status = 'todo' order by id limit 1;
    if found then
        payload := json_build_object('type', 'job_inserted', 'job_id', waiting.id)::text;
        perform pg_notify('procrastinate_queue_v1#' || waiting.queue_name, payload);
        perform pg_notify('procrastinate_any_queue_v1', payload);
    end if;
    return null;
end $$;
create trigger lock_released after delete or update of status on procrastinate_jobs
    for each row when (old.status = 'doing' and old.lock is not null) execute function lock_released();
