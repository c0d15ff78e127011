insert into shared_sources (article_id, document_id) values (1, 3);
