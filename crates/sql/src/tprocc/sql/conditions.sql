-- The twelve consistency conditions of clauses 3.3.2.1 to 3.3.2.12. Each statement counts what violates its condition, so
-- that every answer must be 0. Condition 11 holds only between the load and the first transaction; DELIVERED stands for
-- the initial orders of a district that are delivered, 2,100 in the specification's size.

--: 1
-- What a warehouse has taken is what its districts have taken.
SELECT count(*) FROM (
    SELECT w_id FROM warehouse LEFT JOIN district ON d_w_id = w_id
    GROUP BY w_id, w_ytd HAVING w_ytd <> coalesce(sum(d_ytd), 0)
) AS violations;

--: 2
-- A district's next order number follows its last order and its last order that waits.
SELECT count(*)
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) AS placed
    ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last FROM new_order GROUP BY no_w_id, no_d_id) AS waiting
    ON no_w_id = d_w_id AND no_d_id = d_id
WHERE placed.last IS NULL OR placed.last <> d_next_o_id - 1 OR waiting.last <> d_next_o_id - 1;

--: 3
-- The orders of a district that wait have numbers without a gap.
SELECT count(*) FROM (
    SELECT no_w_id FROM new_order
    GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)
) AS violations;

--: 4
-- A district has as many lines as its orders say.
SELECT count(*)
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS said FROM orders GROUP BY o_w_id, o_d_id) AS placed
    ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS counted FROM order_line GROUP BY ol_w_id, ol_d_id) AS lines_of
    ON ol_w_id = d_w_id AND ol_d_id = d_id
WHERE coalesce(said, 0) <> coalesce(counted, 0);

--: 5
-- An order has no carrier if and only if it waits.
SELECT (
    SELECT count(*)
    FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
    WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)
) + (
    SELECT count(*)
    FROM new_order LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
    WHERE o_id IS NULL
);

--: 6
-- An order has as many lines as it says.
SELECT count(*)
FROM orders
LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS counted FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS lines_of
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_ol_cnt <> coalesce(counted, 0);

--: 7
-- A line has no date of delivery if and only if its order has no carrier.
SELECT count(*)
FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_id IS NULL
   OR (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL);

--: 8
-- What a warehouse has taken is the sum of its payments.
SELECT count(*)
FROM warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) AS payments ON h_w_id = w_id
WHERE w_ytd <> coalesce(paid, 0);

--: 9
-- What a district has taken is the sum of its payments.
SELECT count(*)
FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS payments
    ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_ytd <> coalesce(paid, 0);

--: 10
-- What a customer owes is what was delivered less what was paid.
SELECT count(*)
FROM customer
LEFT JOIN (
    SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id
) AS deliveries ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
LEFT JOIN (
    SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id
) AS payments ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0);

--: 11
-- Before the first transaction: of each district's orders, so many do not wait.
SELECT count(*)
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS placed FROM orders GROUP BY o_w_id, o_d_id) AS all_orders
    ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS waits FROM new_order GROUP BY no_w_id, no_d_id) AS waiting
    ON no_w_id = d_w_id AND no_d_id = d_id
WHERE coalesce(placed, 0) - coalesce(waits, 0) <> DELIVERED;

--: 12
-- What a customer owes and what he has paid is together what was delivered to him.
SELECT count(*)
FROM customer
LEFT JOIN (
    SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id
) AS deliveries ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0);
