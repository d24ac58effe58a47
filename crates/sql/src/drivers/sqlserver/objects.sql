-- What has one of the names in the place of `{}`: what it is, its name, and whether it says that it is Fathom's.
-- Tables, procedures, triggers and constraints share their names within the schema in which a session creates. Of a
-- catalogue of full-text indexes nobody can tell whose it is: a load that goes on takes the one that is there.

--: objects
SELECT CASE known.type WHEN 'U' THEN 'table' WHEN 'V' THEN 'view' WHEN 'P' THEN 'procedure' WHEN 'TR' THEN 'trigger'
                       WHEN 'FN' THEN 'function' WHEN 'IF' THEN 'function' WHEN 'TF' THEN 'function'
                       WHEN 'SO' THEN 'sequence' WHEN 'SN' THEN 'synonym' ELSE 'object' END,
       known.name,
       CASE WHEN OBJECT_DEFINITION(known.object_id) LIKE '%made by Fathom%' THEN 1
            WHEN EXISTS (SELECT 1 FROM sys.key_constraints AS mark
                         WHERE mark.parent_object_id = known.object_id AND mark.name = 'made_by_fathom') THEN 1
            ELSE 0 END
FROM sys.objects AS known
WHERE known.schema_id = SCHEMA_ID() AND known.name IN ({});

--: catalogs
SELECT 'fulltext catalog', name, 1 FROM sys.fulltext_catalogs WHERE name IN ({});
