-- The purchase inside the database: one round trip instead of three. Every other operation is one statement anyhow.

--: purchase
-- Products come without repetition and sorted, so that two purchases cannot wait for each other. A product that is short ends
-- the transaction with code FT002, after the order was added.
CREATE FUNCTION purchase(customer integer, items integer[], quantities integer[]) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    net    numeric;
    levy   numeric;
    placed integer;
    taken  integer;
BEGIN
    SELECT sum(price * quantity) INTO net
    FROM unnest(items, quantities) AS cart (item, quantity) JOIN products ON prod_id = item;
    levy := round(net * 0.0825, 2);
    INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount)
    VALUES (current_date, customer, net, levy, net + levy)
    RETURNING orderid INTO placed;

    PERFORM FROM inventory WHERE prod_id = ANY (items) ORDER BY prod_id FOR UPDATE;
    UPDATE inventory SET quan_in_stock = quan_in_stock - quantity, sales = sales + quantity
    FROM unnest(items, quantities) AS cart (item, quantity)
    WHERE prod_id = item AND quan_in_stock >= quantity;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken <> cardinality(items) THEN
        RAISE EXCEPTION 'a product of the order is short' USING ERRCODE = 'FT002';
    END IF;

    INSERT INTO orderlines (orderid, orderlineid, prod_id, quantity, orderdate)
    SELECT placed, number, item, quantity, current_date
    FROM unnest(items, quantities) WITH ORDINALITY AS cart (item, quantity, number);
    INSERT INTO cust_hist (customerid, orderid, prod_id) SELECT customer, placed, item FROM unnest(items) AS item;
    RETURN placed;
END $$;
