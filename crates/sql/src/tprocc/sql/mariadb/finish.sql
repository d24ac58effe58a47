-- After the load: statistics for the planner. InnoDB has no statement for a checkpoint.

--: analyze
ANALYZE TABLE warehouse, district, customer, history, item, stock, orders, new_order, order_line;
