-- The purchase inside the database: one round trip instead of one for each statement. Every other operation is one statement
-- anyhow. Lists come as JSON. Sessions run with XACT_ABORT ON: every error ends the transaction and the call.

--: purchase
-- A product that is short ends the transaction, after the order was added, with order number 0.
CREATE PROCEDURE purchase (@customer int, @items nvarchar(4000), @quantities nvarchar(4000))
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @net decimal(12, 2), @levy decimal(12, 2), @placed int, @taken int, @today date = SYSUTCDATETIME();
    -- In the order of the stock's key: two purchases of the same products lock them in the same order.
    DECLARE @cart TABLE (
        item     int      NOT NULL PRIMARY KEY,
        number   smallint NOT NULL,
        quantity smallint NOT NULL
    );

    INSERT INTO @cart (item, number, quantity)
    SELECT CAST(item.value AS int), CAST(item.[key] AS smallint) + 1, CAST(quantity.value AS smallint)
    FROM OPENJSON(@items) AS item
    JOIN OPENJSON(@quantities) AS quantity ON quantity.[key] = item.[key];

    BEGIN TRANSACTION;
    SELECT @net = SUM(price * quantity) FROM @cart AS cart JOIN products ON prod_id = cart.item;
    SET @levy = ROUND(@net * 0.0825, 2);
    INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount)
    VALUES (@today, @customer, @net, @levy, @net + @levy);
    SET @placed = SCOPE_IDENTITY();

    UPDATE inventory SET quan_in_stock = quan_in_stock - cart.quantity, sales = sales + cart.quantity
    FROM @cart AS cart
    WHERE prod_id = cart.item AND quan_in_stock >= cart.quantity;
    SET @taken = @@ROWCOUNT;

    IF @taken < (SELECT COUNT(*) FROM @cart)
    BEGIN
        ROLLBACK TRANSACTION;
        SELECT 0 AS orderid;
    END
    ELSE
    BEGIN
        INSERT INTO orderlines (orderid, orderlineid, prod_id, quantity, orderdate)
        SELECT @placed, number, item, quantity, @today FROM @cart;
        INSERT INTO cust_hist (customerid, orderid, prod_id) SELECT @customer, @placed, item FROM @cart;
        COMMIT TRANSACTION;
        SELECT @placed AS orderid;
    END;
END;
