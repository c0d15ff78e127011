-- How well models keep to the shape that is asked of them, counted for each model and stage: `doctor` names
-- those that need much repair.
create table model_record (
    model       text    not null,
    stage       text    not null,               -- what was asked for: analyst, section, review …
    answers     integer not null default 0,     -- structured answers that were asked for
    repaired    integer not null default 0,     -- answers that code put right, at no cost
    asked_again integer not null default 0,     -- requests that had to be made once more
    rescued     integer not null default 0,     -- answers that the formatter or the fallback model gave
    failed      integer not null default 0,     -- answers that nobody could use
    updated_at  timestamptz not null default now(),
    primary key (model, stage)
);
