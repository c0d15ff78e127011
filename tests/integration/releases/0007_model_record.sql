insert into model_record (model, stage, answers) values ('gpt-4.1-mini', 'review', 4);
