-- What has one of the names in the place of `{}`: what it is, its name as DROP takes it, and whether it says that it is
-- Fathom's. Only the schema in which a session creates; functions of the whole path, because a call picks one by its
-- types.

--: relations
SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence'
                    WHEN 'i' THEN 'index' WHEN 'I' THEN 'index'
                    WHEN 'f' THEN 'foreign table' WHEN 'c' THEN 'type' ELSE 'table' END,
       quote_ident(nspname) || '.' || quote_ident(relname),
       (coalesce(obj_description(pg_class.oid, 'pg_class'), '') = 'made by Fathom')::int
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = current_schema() AND relname IN ({});

--: types
SELECT 'type', quote_ident(nspname) || '.' || quote_ident(typname), 0
FROM pg_type JOIN pg_namespace ON pg_namespace.oid = typnamespace
WHERE nspname = current_schema() AND typrelid = 0 AND typname IN ({});

--: routines
SELECT CASE prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' ELSE 'function' END,
       quote_ident(nspname) || '.' || quote_ident(proname)
           || '(' || pg_get_function_identity_arguments(pg_proc.oid) || ')',
       (coalesce(obj_description(pg_proc.oid, 'pg_proc'), '') = 'made by Fathom')::int
FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
WHERE nspname = ANY (current_schemas(false)) AND proname IN ({});
