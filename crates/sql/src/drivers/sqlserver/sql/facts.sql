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

--: files
SELECT name, CONCAT(type_desc COLLATE DATABASE_DEFAULT, ' ', physical_name COLLATE DATABASE_DEFAULT)
FROM sys.database_files;
