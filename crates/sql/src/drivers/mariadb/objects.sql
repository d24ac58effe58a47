-- What has one of the names in the place of `{}`: what it is, its name, and whether it says that it is Fathom's.

--: tables
SELECT CASE table_type WHEN 'VIEW' THEN 'view' WHEN 'SEQUENCE' THEN 'sequence' ELSE 'table' END, table_name,
       coalesce(table_comment, '') = 'made by Fathom'
FROM information_schema.tables
WHERE table_schema = database() AND table_name IN ({});

--: routines
SELECT lower(routine_type), routine_name, coalesce(routine_comment, '') = 'made by Fathom'
FROM information_schema.routines
WHERE routine_schema = database() AND routine_name IN ({});

--: triggers
SELECT 'trigger', trigger_name, action_statement LIKE '%made by Fathom%'
FROM information_schema.triggers
WHERE trigger_schema = database() AND trigger_name IN ({});

--: references
SELECT 'foreign key', constraint_name, coalesce(table_comment, '') = 'made by Fathom'
FROM information_schema.table_constraints AS known
JOIN information_schema.tables AS of_table
    ON of_table.table_schema = known.table_schema AND of_table.table_name = known.table_name
WHERE constraint_schema = database() AND constraint_type = 'FOREIGN KEY' AND constraint_name IN ({});
