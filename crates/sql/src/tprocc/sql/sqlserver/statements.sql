-- The five transactions statement by statement. Every read that a later write builds on locks its row. The first line of
-- each names the types of its parameters, so that none is converted where an index should be used.

--: customers_of_name
-- @P1 int, @P2 smallint, @P3 varchar(16)
SELECT c_id FROM customer WHERE c_w_id = @P1 AND c_d_id = @P2 AND c_last = @P3 ORDER BY c_first;

--: order_district
-- @P1 int, @P2 smallint
SELECT d_next_o_id, d_tax FROM district WITH (UPDLOCK) WHERE d_w_id = @P1 AND d_id = @P2;

--: order_number_taken
-- @P1 int, @P2 smallint
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = @P1 AND d_id = @P2;

--: order_customer
-- @P1 int, @P2 smallint, @P3 int
SELECT c_discount, w_tax, c_last, c_credit
FROM customer JOIN warehouse ON w_id = c_w_id
WHERE c_w_id = @P1 AND c_d_id = @P2 AND c_id = @P3;

--: order_item
-- @P1 int
SELECT i_price, i_name, i_data FROM item WHERE i_id = @P1;

--: order_stock
-- @P1 smallint, @P2 int, @P3 int
SELECT s_quantity, s_data,
    CASE @P1 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
           WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
FROM stock WITH (UPDLOCK) WHERE s_w_id = @P2 AND s_i_id = @P3;

--: order_stock_taken
-- @P1 smallint, @P2 int, @P3 int, @P4 int, @P5 int
UPDATE stock
SET s_quantity = @P1, s_ytd = s_ytd + @P2, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + @P3
WHERE s_w_id = @P4 AND s_i_id = @P5;

--: order_added
-- @P1 int, @P2 smallint, @P3 int, @P4 int, @P5 datetime2(0), @P6 smallint, @P7 smallint
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES (@P1, @P2, @P3, @P4, @P5, NULL, @P6, @P7);

--: order_waits
-- @P1 int, @P2 smallint, @P3 int
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (@P1, @P2, @P3);

--: order_line_added
-- @P1 int, @P2 smallint, @P3 int, @P4 smallint, @P5 int, @P6 int, @P7 smallint, @P8 decimal(6, 2), @P9 char(24)
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
                        ol_amount, ol_dist_info)
VALUES (@P1, @P2, @P3, @P4, @P5, @P6, NULL, @P7, @P8, @P9);

--: payment_customer
-- @P1 decimal(12, 2), @P2 decimal(12, 2), @P3 varchar(100), @P4 int, @P5 smallint, @P6 int
UPDATE customer
SET c_balance     = c_balance - @P1,
    c_ytd_payment = c_ytd_payment + @P2,
    c_payment_cnt = c_payment_cnt + 1,
    c_data        = CASE WHEN c_credit = 'BC' THEN LEFT(CONCAT(@P3, c_data), 500) ELSE c_data END
WHERE c_w_id = @P4 AND c_d_id = @P5 AND c_id = @P6;

--: payment_customer_read
-- @P1 int, @P2 smallint, @P3 int
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance
FROM customer WHERE c_w_id = @P1 AND c_d_id = @P2 AND c_id = @P3;

--: payment_district
-- @P1 decimal(12, 2), @P2 int, @P3 smallint
UPDATE district SET d_ytd = d_ytd + @P1 WHERE d_w_id = @P2 AND d_id = @P3;

--: payment_warehouse
-- @P1 decimal(12, 2), @P2 int
UPDATE warehouse SET w_ytd = w_ytd + @P1 WHERE w_id = @P2;

--: payment_history
-- @P1 int, @P2 smallint, @P3 int, @P4 datetime2(0), @P5 decimal(6, 2), @P6 int, @P7 smallint
INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
SELECT @P1, @P2, @P3, d_w_id, d_id, @P4, @P5, CONCAT(w_name, '    ', d_name)
FROM warehouse JOIN district ON d_w_id = w_id
WHERE w_id = @P6 AND d_id = @P7;

--: status_customer
-- @P1 int, @P2 smallint, @P3 int
SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = @P1 AND c_d_id = @P2 AND c_id = @P3;

--: status_lines
-- @P1 int, @P2 smallint, @P3 int, @P4 smallint, @P5 int
SELECT ol_o_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
FROM order_line
WHERE ol_w_id = @P1 AND ol_d_id = @P2 AND ol_o_id = (
    SELECT MAX(o_id) FROM orders WHERE o_w_id = @P3 AND o_d_id = @P4 AND o_c_id = @P5);

--: delivery_oldest
-- @P1 int, @P2 smallint
SELECT TOP (1) no_o_id FROM new_order WITH (UPDLOCK) WHERE no_w_id = @P1 AND no_d_id = @P2 ORDER BY no_o_id;

--: delivery_taken
-- @P1 int, @P2 smallint, @P3 int
DELETE FROM new_order WHERE no_w_id = @P1 AND no_d_id = @P2 AND no_o_id = @P3;

--: delivery_order
-- @P1 smallint, @P2 int, @P3 smallint, @P4 int
UPDATE orders SET o_carrier_id = @P1 WHERE o_w_id = @P2 AND o_d_id = @P3 AND o_id = @P4;

--: delivery_lines
-- @P1 datetime2(0), @P2 int, @P3 smallint, @P4 int
UPDATE order_line SET ol_delivery_d = @P1 WHERE ol_w_id = @P2 AND ol_d_id = @P3 AND ol_o_id = @P4;

--: delivery_customer
-- @P1 int, @P2 smallint, @P3 int, @P4 int, @P5 smallint, @P6 int, @P7 smallint, @P8 int
UPDATE customer
SET c_balance = c_balance + (
        SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = @P1 AND ol_d_id = @P2 AND ol_o_id = @P3),
    c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = @P4 AND c_d_id = @P5 AND c_id = (
    SELECT o_c_id FROM orders WHERE o_w_id = @P6 AND o_d_id = @P7 AND o_id = @P8);

--: stock_level
-- @P1 int, @P2 smallint, @P3 int
SELECT COUNT(DISTINCT s_i_id)
FROM district
JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id
WHERE d_w_id = @P1 AND d_id = @P2 AND s_quantity < @P3;
