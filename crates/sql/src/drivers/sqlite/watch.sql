-- What can be asked of SQLite; it counts neither transactions nor bytes of log.

--: sizes
-- The database, and the memory it may keep pages in, bytes (a negative cache size is in KiB).
SELECT page_count * page_size, CASE WHEN cache_size < 0 THEN -cache_size * 1024 ELSE cache_size * page_size END
FROM pragma_page_count, pragma_page_size, pragma_cache_size;
