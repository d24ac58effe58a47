-- The five transactions as functions: one round trip each, in PL/pgSQL, whose statements are planned once per session (those of
-- a function in SQL at every call).

--: place_order
-- New-Order. An item that does not exist ends the transaction with code FT001, after the work was done.
CREATE FUNCTION place_order(
    warehouse_id integer, district_id integer, customer_id integer,
    items integer[], supplies integer[], quantities integer[],
    OUT order_id integer, OUT total numeric
) LANGUAGE plpgsql AS $$
DECLARE
    tax      numeric;
    discount numeric;
    lines    integer;
BEGIN
    UPDATE district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_next_o_id - 1, d_tax INTO order_id, tax;

    SELECT c_discount, tax + w_tax INTO discount, tax
    FROM customer, warehouse
    WHERE w_id = warehouse_id AND c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (warehouse_id, district_id, order_id, customer_id, localtimestamp, NULL, cardinality(items),
            CASE WHEN warehouse_id = ALL (supplies) THEN 1 ELSE 0 END);

    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (warehouse_id, district_id, order_id);

    WITH line AS (
        SELECT * FROM unnest(items, supplies, quantities) WITH ORDINALITY AS line (item, supply, quantity, number)
    ), taken AS (
        UPDATE stock
        SET s_quantity   = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
            s_ytd        = s_ytd + quantity,
            s_order_cnt  = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN supply = warehouse_id THEN 0 ELSE 1 END
        FROM line JOIN item ON i_id = line.item
        WHERE s_w_id = supply AND s_i_id = line.item
        RETURNING number, i_id, supply, quantity, i_price * quantity AS amount,
            CASE district_id
                WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10
            END AS information
    ), added AS (
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                ol_quantity, ol_amount, ol_dist_info)
        SELECT warehouse_id, district_id, order_id, number, i_id, supply, NULL, quantity, amount, information
        FROM taken
        RETURNING ol_amount
    )
    SELECT count(*), sum(ol_amount) * (1 - discount) * (1 + tax) INTO lines, total FROM added;

    IF lines <> cardinality(items) THEN
        RAISE EXCEPTION 'an item of the order does not exist' USING ERRCODE = 'FT001';
    END IF;
END $$;

--: pay
-- Payment, by the customer's number, or by last name if the number is 0. The rows everybody wants come last.
CREATE FUNCTION pay(
    warehouse_id integer, district_id integer, customer_warehouse integer, customer_district integer,
    INOUT customer_id integer, last_name varchar, amount numeric,
    OUT balance numeric, OUT credit char(2)
) LANGUAGE plpgsql AS $$
DECLARE
    district_name  varchar(10);
    warehouse_name varchar(10);
BEGIN
    IF customer_id = 0 THEN
        SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] INTO customer_id
        FROM customer
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_last = last_name;
    END IF;

    UPDATE customer
    SET c_balance     = c_balance - amount,
        c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data        = CASE WHEN c_credit = 'BC' THEN
            left(concat_ws(' ', customer_id, customer_district, customer_warehouse, district_id, warehouse_id, amount,
                           c_data), 500)
            ELSE c_data END
    WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_id
    RETURNING c_balance, c_credit INTO balance, credit;

    UPDATE district SET d_ytd = d_ytd + amount
    WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_name INTO district_name;

    UPDATE warehouse SET w_ytd = w_ytd + amount
    WHERE w_id = warehouse_id
    RETURNING w_name INTO warehouse_name;

    INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
    VALUES (customer_warehouse, customer_district, customer_id, warehouse_id, district_id, localtimestamp, amount,
            warehouse_name || '    ' || district_name);
END $$;

--: order_status
-- Order-Status: the lines of a customer's last order.
CREATE FUNCTION order_status(
    warehouse_id integer, district_id integer, customer_id integer, last_name varchar
) RETURNS TABLE (order_id integer, item integer, supply integer, quantity smallint, amount numeric, delivered timestamp)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    customer_number integer := customer_id;
BEGIN
    IF customer_number = 0 THEN
        SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] INTO customer_number
        FROM customer
        WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_last = last_name;
    END IF;
    -- What a terminal would show beside the lines.
    PERFORM c_balance, c_first, c_middle, c_last
    FROM customer
    WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_number;

    RETURN QUERY
    SELECT ol_o_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM order_line
    WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = (
        SELECT o_id FROM orders
        WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_c_id = customer_number
        ORDER BY o_id DESC LIMIT 1);
END $$;

--: deliver
-- Delivery: the oldest order of each district that waits. Two deliveries of one warehouse take turns at its rows: a
-- delivery that skipped what another had locked could leave a gap behind.
CREATE FUNCTION deliver(warehouse_id integer, carrier integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    orders_delivered bigint;
BEGIN
    WITH oldest AS MATERIALIZED (
        SELECT district.district_id, waiting.no_o_id
        FROM generate_series(1, 10) AS district (district_id)
        CROSS JOIN LATERAL (
            SELECT no_o_id FROM new_order
            WHERE no_w_id = warehouse_id AND no_d_id = district.district_id
            ORDER BY no_o_id LIMIT 1 FOR UPDATE
        ) AS waiting
    ), taken AS (
        DELETE FROM new_order USING oldest
        WHERE no_w_id = warehouse_id AND no_d_id = oldest.district_id AND new_order.no_o_id = oldest.no_o_id
        RETURNING no_d_id, new_order.no_o_id
    ), carried AS (
        UPDATE orders SET o_carrier_id = carrier FROM taken
        WHERE o_w_id = warehouse_id AND o_d_id = no_d_id AND o_id = no_o_id
        RETURNING o_d_id, o_c_id
    ), delivered AS (
        UPDATE order_line SET ol_delivery_d = localtimestamp FROM taken
        WHERE ol_w_id = warehouse_id AND ol_d_id = no_d_id AND ol_o_id = no_o_id
        RETURNING ol_d_id, ol_amount
    ), owed AS (
        SELECT ol_d_id, sum(ol_amount) AS amount FROM delivered GROUP BY ol_d_id
    ), charged AS (
        UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        FROM carried JOIN owed ON ol_d_id = o_d_id
        WHERE c_w_id = warehouse_id AND c_d_id = o_d_id AND c_id = o_c_id
        RETURNING 1
    )
    SELECT count(*) INTO orders_delivered FROM charged;
    RETURN orders_delivered;
END $$;

--: stock_level
-- Stock-Level: items of the district's last 20 orders of which little is left. Written for a planner that cannot tell how many
-- lines these orders have: bounds from subqueries count as a narrow range, and OFFSET 0 has each line ask for its item. As
-- plain joins the estimate is a ninth of the district's lines, for which some sessions read the whole warehouse's stock and
-- all compile the plan (JIT) at every call: ten times the time.
CREATE FUNCTION stock_level(warehouse_id integer, district_id integer, threshold integer) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (
    SELECT count(DISTINCT s_i_id)
    FROM order_line
    CROSS JOIN LATERAL (
        SELECT s_i_id, s_quantity FROM stock WHERE s_w_id = warehouse_id AND s_i_id = ol_i_id OFFSET 0
    ) AS held
    WHERE ol_w_id = warehouse_id AND ol_d_id = district_id
      AND ol_o_id >= (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = warehouse_id AND d_id = district_id)
      AND ol_o_id < (SELECT d_next_o_id FROM district WHERE d_w_id = warehouse_id AND d_id = district_id)
      AND s_quantity < threshold
); END $$;
