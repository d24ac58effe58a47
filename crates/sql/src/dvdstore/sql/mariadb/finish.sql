-- After the load: statistics for the planner. InnoDB has no statement for a checkpoint.

--: analyze
ANALYZE TABLE customers, orders, orderlines, cust_hist, categories, products, inventory, reorder, membership, reviews,
    reviews_helpfulness;
