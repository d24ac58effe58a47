SELECT 'sqlserver' AS name, CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS value
UNION ALL
SELECT 'edition', CAST(SERVERPROPERTY('Edition') AS nvarchar(128))
UNION ALL
SELECT 'delayed_durability', LOWER(delayed_durability_desc) FROM sys.databases WHERE database_id = DB_ID()
UNION ALL
SELECT 'recovery_model', recovery_model_desc FROM sys.databases WHERE database_id = DB_ID()
UNION ALL
SELECT 'read_committed_snapshot', CASE WHEN is_read_committed_snapshot_on = 1 THEN 'on' ELSE 'off' END
FROM sys.databases WHERE database_id = DB_ID()
UNION ALL
SELECT 'page_verify', page_verify_option_desc FROM sys.databases WHERE database_id = DB_ID()
UNION ALL
SELECT CONCAT('file ', name), CONCAT(type_desc, ' ', physical_name) FROM sys.database_files
