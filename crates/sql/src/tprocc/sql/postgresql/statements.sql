-- The five transactions statement by statement. Every read that a later write builds on locks its row.

--: customers_of_name
SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first;

--: order_district
SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE;

--: order_number_taken
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2;

--: order_customer
SELECT c_discount, w_tax, c_last, c_credit
FROM customer JOIN warehouse ON w_id = c_w_id
WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3;

--: order_item
SELECT i_price, i_name, i_data FROM item WHERE i_id = $1;

--: order_stock
SELECT s_quantity, s_data,
    CASE $1::integer WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
           WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
FROM stock WHERE s_w_id = $2 AND s_i_id = $3 FOR UPDATE;

--: order_stock_taken
UPDATE stock
SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $3
WHERE s_w_id = $4 AND s_i_id = $5;

--: order_added
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES ($1, $2, $3, $4, $5, NULL, $6, $7);

--: order_waits
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3);

--: order_line_added
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
                        ol_amount, ol_dist_info)
VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9);

--: payment_customer
UPDATE customer
SET c_balance     = c_balance - $1,
    c_ytd_payment = c_ytd_payment + $2,
    c_payment_cnt = c_payment_cnt + 1,
    c_data        = CASE WHEN c_credit = 'BC' THEN left($3 || c_data, 500) ELSE c_data END
WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6;

--: payment_customer_read
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance
FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3;

--: payment_district
UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3;

--: payment_warehouse
UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2;

--: payment_history
INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
SELECT $1, $2, $3, d_w_id, d_id, $4, $5, w_name || '    ' || d_name
FROM warehouse JOIN district ON d_w_id = w_id
WHERE w_id = $6 AND d_id = $7;

--: status_customer
SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3;

--: status_lines
SELECT ol_o_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
FROM order_line
WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = (
    SELECT max(o_id) FROM orders WHERE o_w_id = $3 AND o_d_id = $4 AND o_c_id = $5);

--: delivery_oldest
SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR UPDATE;

--: delivery_taken
DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3;

--: delivery_order
UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4;

--: delivery_lines
UPDATE order_line SET ol_delivery_d = $1 WHERE ol_w_id = $2 AND ol_d_id = $3 AND ol_o_id = $4;

--: delivery_customer
UPDATE customer
SET c_balance = c_balance + (
        SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3),
    c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = (
    SELECT o_c_id FROM orders WHERE o_w_id = $6 AND o_d_id = $7 AND o_id = $8);

--: stock_level
-- As in procedures.sql, and for the same reason.
SELECT count(DISTINCT s_i_id)
FROM order_line
CROSS JOIN LATERAL (
    SELECT s_i_id, s_quantity FROM stock WHERE s_w_id = $1 AND s_i_id = ol_i_id OFFSET 0
) AS held
WHERE ol_w_id = $1 AND ol_d_id = $2
  AND ol_o_id >= (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = $1 AND d_id = $2)
  AND ol_o_id < (SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2)
  AND s_quantity < $3;
