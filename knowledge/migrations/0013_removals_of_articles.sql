-- Whose a source was that somebody took out: of one made in direct messages only who asked for the article is told.
-- No reference, since a removal outlives its article; null = of the base.
alter table removals add column article_id integer;
