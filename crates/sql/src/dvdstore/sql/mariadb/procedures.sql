-- The purchase inside the database: one round trip instead of one for each statement. Every other operation is one statement
-- anyhow. Lists come as JSON.

--: purchase
-- Products come without repetition and sorted, so that two purchases cannot wait for each other. A product that is short ends
-- the transaction, after the order was added, with order number 0.
CREATE PROCEDURE purchase(IN customer int, IN items json, IN quantities json)
COMMENT 'made by Fathom'
BEGIN
    DECLARE placed, item, wanted, place, length, short int DEFAULT 0;
    DECLARE net, levy decimal(12, 2);
    DECLARE today date DEFAULT curdate();
    SET length = json_length(items);
    START TRANSACTION;
    SELECT sum(price * quantity) INTO net
    FROM JSON_TABLE(items, '$[*]' COLUMNS (number FOR ORDINALITY, item int PATH '$')) AS cart
    JOIN JSON_TABLE(quantities, '$[*]' COLUMNS (number FOR ORDINALITY, quantity int PATH '$')) AS amounts
        ON amounts.number = cart.number
    JOIN products ON prod_id = cart.item;
    SET levy = round(net * 0.0825, 2);
    INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount) VALUES (today, customer, net, levy, net + levy);
    SET placed = last_insert_id();

    WHILE place < length AND short = 0 DO
        SET item = json_extract(items, concat('$[', place, ']'));
        SET wanted = json_extract(quantities, concat('$[', place, ']'));
        SET place = place + 1;
        UPDATE inventory SET quan_in_stock = quan_in_stock - wanted, sales = sales + wanted
        WHERE prod_id = item AND quan_in_stock >= wanted;
        IF row_count() = 0 THEN
            SET short = 1;
        ELSE
            INSERT INTO orderlines (orderid, orderlineid, prod_id, quantity, orderdate)
            VALUES (placed, place, item, wanted, today);
            INSERT INTO cust_hist (customerid, orderid, prod_id) VALUES (customer, placed, item);
        END IF;
    END WHILE;

    IF short = 1 THEN
        ROLLBACK;
        SELECT 0 AS orderid;
    ELSE
        COMMIT;
        SELECT placed AS orderid;
    END IF;
END;
