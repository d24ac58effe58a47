-- After the load: full-text indexes and a checkpoint, so that a run does not begin with the load's dirty pages. The other
-- indexes have just been built and have brought their statistics with them. Each goes alone and outside of a transaction,
-- and does nothing where it was done before.

--: fulltext_catalog
IF NOT EXISTS (SELECT 1 FROM sys.fulltext_catalogs WHERE name = 'dvd_store')
    CREATE FULLTEXT CATALOG dvd_store;

--: fulltext_index
-- Without a language and without words to leave out: syllables are no English. Filled once: titles and actors never change.
IF NOT EXISTS (SELECT 1 FROM sys.fulltext_indexes WHERE object_id = OBJECT_ID('products'))
    CREATE FULLTEXT INDEX ON products (title LANGUAGE 0, actor LANGUAGE 0) KEY INDEX products_key ON dvd_store
    WITH (CHANGE_TRACKING = OFF, STOPLIST = OFF);

--: fulltext_filled
-- The server fills the index by itself after the statement has ended; a search before that finds nothing.
WHILE EXISTS (SELECT 1 FROM sys.fulltext_indexes WHERE object_id = OBJECT_ID('products') AND has_crawl_completed = 0)
BEGIN
    WAITFOR DELAY '00:00:00.200';
END;

--: checkpoint
CHECKPOINT;
