-- The five transactions as procedures, each with a transaction of its own. Lists come as JSON. The rows of the session are
-- read and locked at READ COMMITTED: every read that a later write builds on locks its row.

--: place_order
-- New-Order. An item that does not exist ends the transaction, after the work was done, with order number 0.
CREATE PROCEDURE place_order(
    IN warehouse_id int, IN district_id int, IN customer_id int, IN items json, IN supplies json, IN quantities json
)
COMMENT 'made by Fathom'
BEGIN
    DECLARE order_id, item_id, supply_id, wanted, place, length, missing int DEFAULT 0;
    DECLARE tax, discount decimal(8, 4);
    DECLARE price, amount, total decimal(12, 2) DEFAULT 0;
    DECLARE information char(24);
    DECLARE all_local int DEFAULT 1;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET missing = 1;
    START TRANSACTION;
    SET length = json_length(items);

    SELECT d_next_o_id, d_tax INTO order_id, tax FROM district
    WHERE d_w_id = warehouse_id AND d_id = district_id FOR UPDATE;
    UPDATE district SET d_next_o_id = order_id + 1 WHERE d_w_id = warehouse_id AND d_id = district_id;

    SELECT c_discount, w_tax + tax INTO discount, tax
    FROM customer JOIN warehouse ON w_id = c_w_id
    WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;

    WHILE place < length DO
        SET item_id = json_extract(items, concat('$[', place, ']'));
        SET supply_id = json_extract(supplies, concat('$[', place, ']'));
        SET wanted = json_extract(quantities, concat('$[', place, ']'));
        IF supply_id <> warehouse_id THEN
            SET all_local = 0;
        END IF;
        SET place = place + 1;
        SELECT i_price INTO price FROM item WHERE i_id = item_id;
        IF missing = 0 THEN
            UPDATE stock
            SET s_quantity   = s_quantity - wanted + CASE WHEN s_quantity >= wanted + 10 THEN 0 ELSE 91 END,
                s_ytd        = s_ytd + wanted,
                s_order_cnt  = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN supply_id = warehouse_id THEN 0 ELSE 1 END
            WHERE s_w_id = supply_id AND s_i_id = item_id;
            SELECT CASE district_id
                WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO information FROM stock WHERE s_w_id = supply_id AND s_i_id = item_id;
            SET amount = price * wanted;
            SET total = total + amount;
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                    ol_quantity, ol_amount, ol_dist_info)
            VALUES (warehouse_id, district_id, order_id, place, item_id, supply_id, NULL, wanted, amount, information);
        END IF;
    END WHILE;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (warehouse_id, district_id, order_id, customer_id, now(), NULL, length, all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (warehouse_id, district_id, order_id);

    IF missing = 1 THEN
        ROLLBACK;
        SELECT 0 AS order_id, 0 AS total;
    ELSE
        COMMIT;
        SELECT order_id, total * (1 - discount) * (1 + tax) AS total;
    END IF;
END;

--: pay
-- Payment, by the customer's number, or by last name if the number is 0. The rows everybody wants come last.
CREATE PROCEDURE pay(
    IN warehouse_id int, IN district_id int, IN customer_warehouse int, IN customer_district int,
    IN customer_id int, IN last_name varchar(16) CHARACTER SET latin1 COLLATE latin1_bin, IN amount decimal(12, 2)
)
COMMENT 'made by Fathom'
BEGIN
    DECLARE middle int DEFAULT 0;
    START TRANSACTION;
    IF customer_id = 0 THEN
        SELECT (count(*) - 1) DIV 2 INTO middle FROM customer
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_last = last_name;
        SELECT c_id INTO customer_id FROM customer
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_last = last_name
        ORDER BY c_first LIMIT middle, 1;
    END IF;

    UPDATE customer
    SET c_balance     = c_balance - amount,
        c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data        = CASE WHEN c_credit = 'BC' THEN
            left(concat_ws(' ', customer_id, customer_district, customer_warehouse, district_id, warehouse_id, amount,
                           c_data), 500)
            ELSE c_data END
    WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_id;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = warehouse_id AND d_id = district_id;
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = warehouse_id;

    INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
    SELECT customer_warehouse, customer_district, customer_id, warehouse_id, district_id, now(), amount,
           concat(w_name, '    ', d_name)
    FROM warehouse JOIN district ON d_w_id = w_id
    WHERE w_id = warehouse_id AND d_id = district_id;
    COMMIT;

    SELECT customer_id, c_balance AS balance, c_credit AS credit FROM customer
    WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_id;
END;

--: order_status
-- Order-Status: the lines of a customer's last order.
CREATE PROCEDURE order_status(
    IN warehouse_id int, IN district_id int, IN customer_id int,
    IN last_name varchar(16) CHARACTER SET latin1 COLLATE latin1_bin
)
COMMENT 'made by Fathom'
BEGIN
    DECLARE middle int DEFAULT 0;
    DECLARE balance decimal(12, 2);
    DECLARE first_name varchar(16);
    IF customer_id = 0 THEN
        SELECT (count(*) - 1) DIV 2 INTO middle FROM customer
        WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_last = last_name;
        SELECT c_id INTO customer_id FROM customer
        WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_last = last_name
        ORDER BY c_first LIMIT middle, 1;
    END IF;
    SELECT c_balance, c_first INTO balance, first_name FROM customer
    WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;

    SELECT ol_o_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM order_line
    WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = (
        SELECT max(o_id) FROM orders
        WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_c_id = customer_id);
END;

--: deliver
-- Delivery: the oldest order of each district that waits.
CREATE PROCEDURE deliver(IN warehouse_id int, IN carrier int)
COMMENT 'made by Fathom'
BEGIN
    DECLARE district, delivered int DEFAULT 0;
    DECLARE order_id, customer_id int;
    DECLARE owed decimal(12, 2);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET order_id = NULL;
    START TRANSACTION;
    WHILE district < 10 DO
        SET district = district + 1;
        SET order_id = NULL;
        SELECT no_o_id INTO order_id FROM new_order
        WHERE no_w_id = warehouse_id AND no_d_id = district ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF order_id IS NOT NULL THEN
            DELETE FROM new_order WHERE no_w_id = warehouse_id AND no_d_id = district AND no_o_id = order_id;
            UPDATE orders SET o_carrier_id = carrier
            WHERE o_w_id = warehouse_id AND o_d_id = district AND o_id = order_id;
            SELECT o_c_id INTO customer_id FROM orders
            WHERE o_w_id = warehouse_id AND o_d_id = district AND o_id = order_id;
            UPDATE order_line SET ol_delivery_d = now()
            WHERE ol_w_id = warehouse_id AND ol_d_id = district AND ol_o_id = order_id;
            SELECT sum(ol_amount) INTO owed FROM order_line
            WHERE ol_w_id = warehouse_id AND ol_d_id = district AND ol_o_id = order_id;
            UPDATE customer SET c_balance = c_balance + owed, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = warehouse_id AND c_d_id = district AND c_id = customer_id;
            SET delivered = delivered + 1;
        END IF;
    END WHILE;
    COMMIT;
    SELECT delivered;
END;

--: stock_level
-- Stock-Level: items of the district's last 20 orders of which little is left.
CREATE PROCEDURE stock_level(IN warehouse_id int, IN district_id int, IN threshold int)
COMMENT 'made by Fathom'
BEGIN
    SELECT count(DISTINCT s_i_id)
    FROM district
    JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
    JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id
    WHERE d_w_id = warehouse_id AND d_id = district_id AND s_quantity < threshold;
END;
