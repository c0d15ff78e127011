"""What the bot knows: articles, documents, search. The only home of SQL."""
