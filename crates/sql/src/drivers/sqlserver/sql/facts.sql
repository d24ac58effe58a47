-- Facts of a run, one question each: what one server lacks or keeps to itself must not cost the others. Names of the catalogue
-- have a collation of their own; beside text of another they are an error without a common one.

--: sqlserver
SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128));

--: edition
SELECT CAST(SERVERPROPERTY('Edition') AS nvarchar(128));

--: delayed_durability
SELECT LOWER(delayed_durability_desc) FROM sys.databases WHERE database_id = DB_ID();

--: recovery_model
SELECT recovery_model_desc FROM sys.databases WHERE database_id = DB_ID();

--: read_committed_snapshot
SELECT CASE WHEN is_read_committed_snapshot_on = 1 THEN 'on' ELSE 'off' END
FROM sys.databases WHERE database_id = DB_ID();

--: page_verify
SELECT page_verify_option_desc FROM sys.databases WHERE database_id = DB_ID();

--: memory_model
-- CONVENTIONAL; LOCK_PAGES: pages that Windows does not swap out; LARGE_PAGES (from 2016 SP1 on).
SELECT sql_memory_model_desc FROM sys.dm_os_sys_info;

--: max_server_memory_mb
-- 2147483647: no limit.
SELECT CAST(value_in_use AS bigint) FROM sys.configurations WHERE name = 'max server memory (MB)';

--: startup_options
-- Of the Windows service. A trace flag that is among them holds from the start; DBCC TRACEON of 1800 comes too late.
SELECT STUFF((SELECT CONCAT(' ', CAST(value_data AS nvarchar(400))) FROM sys.dm_server_registry
              WHERE value_name LIKE 'SQLArg%' ORDER BY value_name FOR XML PATH('')), 1, 1, '');

--: files
SELECT name, CONCAT(type_desc COLLATE DATABASE_DEFAULT, ' ', physical_name COLLATE DATABASE_DEFAULT)
FROM sys.database_files;
