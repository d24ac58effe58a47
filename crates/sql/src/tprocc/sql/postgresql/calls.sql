-- How a session calls the functions.

--: place_order
SELECT order_id, total FROM place_order($1, $2, $3, $4, $5, $6);

--: pay
SELECT customer_id, balance, credit FROM pay($1, $2, $3, $4, $5, $6, $7);

--: order_status
SELECT order_id, item, supply, quantity, amount, delivered FROM order_status($1, $2, $3, $4);

--: deliver
SELECT deliver($1, $2);

--: stock_level
SELECT stock_level($1, $2, $3);
