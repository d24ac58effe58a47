-- What PostgreSQL's catalogue says of the tables that a session means by these names.

--: columns
SELECT c.relname::text, a.attname::text
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE a.attnum > 0 AND NOT a.attisdropped
  AND c.oid IN (to_regclass('warehouse'), to_regclass('district'), to_regclass('customer'), to_regclass('history'),
                to_regclass('item'), to_regclass('stock'), to_regclass('orders'), to_regclass('new_order'),
                to_regclass('order_line'));

--: indexes
SELECT c.relname::text, count(*)
FROM pg_class AS c JOIN pg_index AS i ON i.indrelid = c.oid
WHERE i.indisvalid
  AND c.oid IN (to_regclass('warehouse'), to_regclass('district'), to_regclass('customer'), to_regclass('history'),
                to_regclass('item'), to_regclass('stock'), to_regclass('orders'), to_regclass('new_order'),
                to_regclass('order_line'))
GROUP BY c.relname;

--: routines
-- How its transactions are kept: 'f' as functions, 'p' as procedures.
SELECT prokind::text FROM pg_proc
WHERE proname IN ('neword', 'payment', 'ostat', 'delivery', 'slev') AND pg_function_is_visible(oid);
