-- The five transactions as procedures, each with a transaction of its own at READ COMMITTED. Lists come as JSON. Sessions run
-- with XACT_ABORT ON: every error ends the transaction and the call.

--: place_order
-- New-Order. An item that does not exist ends the transaction, after the work was done, with order number 0. The customer is
-- read before the district is locked: a payment of his that waits for the district holds his row.
CREATE PROCEDURE place_order (
    @warehouse_id int, @district_id smallint, @customer_id int,
    @items nvarchar(4000), @supplies nvarchar(4000), @quantities nvarchar(4000)
)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @order_id int, @tax decimal(8, 4), @discount decimal(4, 4), @placed int, @total decimal(12, 2);
    -- In the order of the stock's key: two orders that want the same items lock them in the same order.
    DECLARE @line TABLE (
        supply   int      NOT NULL,
        item     int      NOT NULL,
        number   smallint NOT NULL,
        quantity smallint NOT NULL,
        PRIMARY KEY (supply, item)
    );

    INSERT INTO @line (supply, item, number, quantity)
    SELECT CAST(supply.value AS int), CAST(item.value AS int), CAST(item.[key] AS smallint) + 1,
           CAST(quantity.value AS smallint)
    FROM OPENJSON(@items) AS item
    JOIN OPENJSON(@supplies) AS supply ON supply.[key] = item.[key]
    JOIN OPENJSON(@quantities) AS quantity ON quantity.[key] = item.[key];

    BEGIN TRANSACTION;
    SELECT @discount = c_discount, @tax = w_tax
    FROM customer JOIN warehouse ON w_id = c_w_id
    WHERE c_w_id = @warehouse_id AND c_d_id = @district_id AND c_id = @customer_id;

    UPDATE district
    SET @order_id = d_next_o_id, @tax = @tax + d_tax, d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = @warehouse_id AND d_id = @district_id;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    SELECT @warehouse_id, @district_id, @order_id, @customer_id, SYSUTCDATETIME(), NULL, COUNT(*),
           MIN(CASE WHEN supply = @warehouse_id THEN 1 ELSE 0 END)
    FROM @line;

    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (@warehouse_id, @district_id, @order_id);

    UPDATE stock
    SET s_quantity   = s_quantity - line.quantity + CASE WHEN s_quantity >= line.quantity + 10 THEN 0 ELSE 91 END,
        s_ytd        = s_ytd + line.quantity,
        s_order_cnt  = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + CASE WHEN line.supply = @warehouse_id THEN 0 ELSE 1 END
    OUTPUT @warehouse_id, @district_id, @order_id, line.number, line.item, line.supply, line.quantity,
           item.i_price * line.quantity,
           CASE @district_id
               WHEN 1 THEN inserted.s_dist_01 WHEN 2 THEN inserted.s_dist_02 WHEN 3 THEN inserted.s_dist_03
               WHEN 4 THEN inserted.s_dist_04 WHEN 5 THEN inserted.s_dist_05 WHEN 6 THEN inserted.s_dist_06
               WHEN 7 THEN inserted.s_dist_07 WHEN 8 THEN inserted.s_dist_08 WHEN 9 THEN inserted.s_dist_09
               ELSE inserted.s_dist_10
           END
    INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
    FROM @line AS line
    JOIN item ON item.i_id = line.item
    JOIN stock ON stock.s_w_id = line.supply AND stock.s_i_id = line.item;

    SELECT @placed = COUNT(*), @total = SUM(ol_amount) FROM order_line
    WHERE ol_w_id = @warehouse_id AND ol_d_id = @district_id AND ol_o_id = @order_id;

    IF @placed < (SELECT COUNT(*) FROM @line)
    BEGIN
        ROLLBACK TRANSACTION;
        SELECT 0 AS order_id, CAST(0 AS decimal(12, 2)) AS total;
    END
    ELSE
    BEGIN
        COMMIT TRANSACTION;
        SELECT @order_id AS order_id, CAST(@total * (1 - @discount) * (1 + @tax) AS decimal(12, 2)) AS total;
    END;
END;

--: pay
-- Payment, by the customer's number, or by last name if the number is 0. The rows everybody wants come last.
CREATE PROCEDURE pay (
    @warehouse_id int, @district_id smallint, @customer_warehouse int, @customer_district smallint,
    @customer_id int, @last_name varchar(16), @amount decimal(12, 2)
)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @namesakes int, @balance decimal(12, 2), @credit char(2), @warehouse_name varchar(10), @district_name varchar(10);
    BEGIN TRANSACTION;
    IF @customer_id = 0
    BEGIN
        SELECT @namesakes = COUNT(*) FROM customer
        WHERE c_w_id = @customer_warehouse AND c_d_id = @customer_district AND c_last = @last_name;
        SELECT @customer_id = c_id FROM customer
        WHERE c_w_id = @customer_warehouse AND c_d_id = @customer_district AND c_last = @last_name
        ORDER BY c_first OFFSET (@namesakes - 1) / 2 ROWS FETCH NEXT 1 ROWS ONLY;
    END;

    UPDATE customer
    SET @balance      = c_balance - @amount,
        @credit       = c_credit,
        c_balance     = c_balance - @amount,
        c_ytd_payment = c_ytd_payment + @amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data        = CASE WHEN c_credit = 'BC' THEN
            LEFT(CONCAT(@customer_id, ' ', @customer_district, ' ', @customer_warehouse, ' ', @district_id, ' ',
                        @warehouse_id, ' ', @amount, ' ', c_data), 500)
            ELSE c_data END
    WHERE c_w_id = @customer_warehouse AND c_d_id = @customer_district AND c_id = @customer_id;
    IF @@ROWCOUNT = 0
        THROW 50001, 'this customer does not exist', 1;

    UPDATE district SET @district_name = d_name, d_ytd = d_ytd + @amount
    WHERE d_w_id = @warehouse_id AND d_id = @district_id;
    UPDATE warehouse SET @warehouse_name = w_name, w_ytd = w_ytd + @amount
    WHERE w_id = @warehouse_id;

    INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
    VALUES (@customer_warehouse, @customer_district, @customer_id, @warehouse_id, @district_id, SYSUTCDATETIME(), @amount,
            CONCAT(@warehouse_name, '    ', @district_name));
    COMMIT TRANSACTION;

    SELECT @customer_id AS customer_id, @balance AS balance, @credit AS credit;
END;

--: order_status
-- Order-Status: the lines of a customer's last order.
CREATE PROCEDURE order_status (
    @warehouse_id int, @district_id smallint, @customer_id int, @last_name varchar(16)
)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @namesakes int, @balance decimal(12, 2), @first varchar(16);
    IF @customer_id = 0
    BEGIN
        SELECT @namesakes = COUNT(*) FROM customer
        WHERE c_w_id = @warehouse_id AND c_d_id = @district_id AND c_last = @last_name;
        SELECT @customer_id = c_id FROM customer
        WHERE c_w_id = @warehouse_id AND c_d_id = @district_id AND c_last = @last_name
        ORDER BY c_first OFFSET (@namesakes - 1) / 2 ROWS FETCH NEXT 1 ROWS ONLY;
    END;
    -- What a terminal would show beside the lines.
    SELECT @balance = c_balance, @first = c_first FROM customer
    WHERE c_w_id = @warehouse_id AND c_d_id = @district_id AND c_id = @customer_id;

    SELECT ol_o_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM order_line
    WHERE ol_w_id = @warehouse_id AND ol_d_id = @district_id AND ol_o_id = (
        SELECT MAX(o_id) FROM orders
        WHERE o_w_id = @warehouse_id AND o_d_id = @district_id AND o_c_id = @customer_id);
END;

--: deliver
-- Delivery: the oldest order of each district that waits. Two deliveries of one warehouse take turns at its rows (UPDLOCK): a
-- delivery that skipped what another had locked could leave a gap behind.
CREATE PROCEDURE deliver (@warehouse_id int, @carrier smallint)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @district smallint = 0, @delivered int = 0, @order_id int, @customer_id int, @owed decimal(12, 2);
    BEGIN TRANSACTION;
    WHILE @district < 10
    BEGIN
        SET @district = @district + 1;
        SET @order_id = NULL;
        SELECT TOP (1) @order_id = no_o_id FROM new_order WITH (UPDLOCK)
        WHERE no_w_id = @warehouse_id AND no_d_id = @district ORDER BY no_o_id;
        IF @order_id IS NOT NULL
        BEGIN
            DELETE FROM new_order WHERE no_w_id = @warehouse_id AND no_d_id = @district AND no_o_id = @order_id;
            UPDATE orders SET @customer_id = o_c_id, o_carrier_id = @carrier
            WHERE o_w_id = @warehouse_id AND o_d_id = @district AND o_id = @order_id;
            UPDATE order_line SET ol_delivery_d = SYSUTCDATETIME()
            WHERE ol_w_id = @warehouse_id AND ol_d_id = @district AND ol_o_id = @order_id;
            SELECT @owed = SUM(ol_amount) FROM order_line
            WHERE ol_w_id = @warehouse_id AND ol_d_id = @district AND ol_o_id = @order_id;
            UPDATE customer SET c_balance = c_balance + @owed, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = @warehouse_id AND c_d_id = @district AND c_id = @customer_id;
            SET @delivered = @delivered + 1;
        END;
    END;
    COMMIT TRANSACTION;
    SELECT @delivered AS delivered;
END;

--: stock_level
-- Stock-Level: items of the district's last 20 orders of which little is left.
CREATE PROCEDURE stock_level (@warehouse_id int, @district_id smallint, @threshold int)
AS
BEGIN
    SET NOCOUNT ON;
    SELECT COUNT(DISTINCT s_i_id)
    FROM district
    JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
    JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id
    WHERE d_w_id = @warehouse_id AND d_id = @district_id AND s_quantity < @threshold;
END;
