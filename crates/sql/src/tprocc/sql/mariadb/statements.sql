-- The five transactions statement by statement. Every read that a later write builds on locks its row.

--: customers_of_name
SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first;

--: order_district
SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE;

--: order_number_taken
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?;

--: order_customer
SELECT c_discount, w_tax, c_last, c_credit
FROM customer JOIN warehouse ON w_id = c_w_id
WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;

--: order_item
SELECT i_price, i_name, i_data FROM item WHERE i_id = ?;

--: order_stock
SELECT s_quantity, s_data,
    CASE ? WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
           WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE;

--: order_stock_taken
UPDATE stock
SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?
WHERE s_w_id = ? AND s_i_id = ?;

--: order_added
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES (?, ?, ?, ?, ?, NULL, ?, ?);

--: order_waits
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?);

--: order_line_added
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
                        ol_amount, ol_dist_info)
VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?);

--: payment_customer
UPDATE customer
SET c_balance     = c_balance - ?,
    c_ytd_payment = c_ytd_payment + ?,
    c_payment_cnt = c_payment_cnt + 1,
    c_data        = CASE WHEN c_credit = 'BC' THEN left(concat(?, c_data), 500) ELSE c_data END
WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;

--: payment_customer_read
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance
FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;

--: payment_district
UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?;

--: payment_warehouse
UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?;

--: payment_history
INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
SELECT ?, ?, ?, d_w_id, d_id, ?, ?, concat(w_name, '    ', d_name)
FROM warehouse JOIN district ON d_w_id = w_id
WHERE w_id = ? AND d_id = ?;

--: status_customer
SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;

--: status_lines
SELECT ol_o_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
FROM order_line
WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = (
    SELECT max(o_id) FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?);

--: delivery_oldest
SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE;

--: delivery_taken
DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?;

--: delivery_order
UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?;

--: delivery_lines
UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?;

--: delivery_customer
UPDATE customer
SET c_balance = c_balance + (
        SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?),
    c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = ? AND c_d_id = ? AND c_id = (
    SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?);

--: stock_level
SELECT count(DISTINCT s_i_id)
FROM district
JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id
WHERE d_w_id = ? AND d_id = ? AND s_quantity < ?;
