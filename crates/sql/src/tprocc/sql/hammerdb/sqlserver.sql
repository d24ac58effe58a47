-- What SQL Server's catalogue says of the tables that a session means by these names.

--: columns
SELECT LOWER(OBJECT_NAME(object_id)), LOWER(name)
FROM sys.columns
WHERE object_id IN (OBJECT_ID('warehouse', 'U'), OBJECT_ID('district', 'U'), OBJECT_ID('customer', 'U'),
                    OBJECT_ID('history', 'U'), OBJECT_ID('item', 'U'), OBJECT_ID('stock', 'U'), OBJECT_ID('orders', 'U'),
                    OBJECT_ID('new_order', 'U'), OBJECT_ID('order_line', 'U'));

--: indexes
SELECT LOWER(OBJECT_NAME(object_id)), COUNT(*)
FROM sys.indexes
WHERE index_id > 0 AND is_disabled = 0
  AND object_id IN (OBJECT_ID('warehouse', 'U'), OBJECT_ID('district', 'U'), OBJECT_ID('customer', 'U'),
                    OBJECT_ID('history', 'U'), OBJECT_ID('item', 'U'), OBJECT_ID('stock', 'U'), OBJECT_ID('orders', 'U'),
                    OBJECT_ID('new_order', 'U'), OBJECT_ID('order_line', 'U'))
GROUP BY object_id;

--: in_memory
SELECT LOWER(name)
FROM sys.tables
WHERE is_memory_optimized = 1
  AND object_id IN (OBJECT_ID('warehouse', 'U'), OBJECT_ID('district', 'U'), OBJECT_ID('customer', 'U'),
                    OBJECT_ID('history', 'U'), OBJECT_ID('item', 'U'), OBJECT_ID('stock', 'U'), OBJECT_ID('orders', 'U'),
                    OBJECT_ID('new_order', 'U'), OBJECT_ID('order_line', 'U'));
