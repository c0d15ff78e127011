-- The finished calls of the leg that an article is in: a leg that starts again, after a crash or by Retry, has
-- them for nothing. Emptied by the move that ends the leg.
create table journal (
    article_id integer not null references articles on delete cascade,
    step       text    not null,                -- the call within its leg: analysis, section:3, research:search
    n          integer not null,                -- counted inside the step: steps run side by side
    digest     text    not null,                -- SHA-256 of what was asked
    body       text    not null,                -- JSON: what came back; text, since jsonb takes no \u0000
    created_at timestamptz not null default now(),
    primary key (article_id, step, n)
);
