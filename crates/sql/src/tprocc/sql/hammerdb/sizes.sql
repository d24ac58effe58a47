-- How much a schema holds: of each statement one row, first how many there are, then the least and the greatest of what the
-- comment names.

--: warehouse
-- Numbers of the warehouses.
SELECT count(*), min(w_id), max(w_id) FROM warehouse;

--: district
-- Districts of a warehouse.
SELECT count(*), min(districts), max(districts) FROM (
    SELECT count(*) AS districts FROM district GROUP BY d_w_id
) AS warehouses;

--: item
-- Numbers of the items.
SELECT count(*), min(i_id), max(i_id) FROM item;

--: stock
-- Items that a warehouse stocks.
SELECT count(*), min(items), max(items) FROM (
    SELECT count(*) AS items FROM stock GROUP BY s_w_id
) AS warehouses;

--: customer
-- Customers of a district.
SELECT count(*), min(customers), max(customers) FROM (
    SELECT count(*) AS customers FROM customer GROUP BY c_w_id, c_d_id
) AS districts;

--: orders
-- Districts that have an order with lines: 1.
SELECT count(*), 1, 1 FROM district
WHERE EXISTS (SELECT 1 FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
  AND EXISTS (SELECT 1 FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id);

--: taken
-- Districts whose next order number is an order's already.
SELECT count(*) FROM district
WHERE EXISTS (SELECT 1 FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id AND o_id >= d_next_o_id);
