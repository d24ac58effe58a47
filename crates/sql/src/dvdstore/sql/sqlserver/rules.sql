-- What holds from the end of the load on: numbers of new rows, references between tables, and the restock of a product that
-- runs out. Each goes alone.

--: numbers
-- The next number of a new row follows the greatest that was loaded.
DBCC CHECKIDENT ('customers') WITH NO_INFOMSGS;
DBCC CHECKIDENT ('orders') WITH NO_INFOMSGS;
DBCC CHECKIDENT ('reviews') WITH NO_INFOMSGS;
DBCC CHECKIDENT ('reviews_helpfulness') WITH NO_INFOMSGS;

--: orders_to_customers
ALTER TABLE orders ADD CONSTRAINT orders_to_customers
    FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE SET NULL;

--: orderlines_to_orders
ALTER TABLE orderlines ADD CONSTRAINT orderlines_to_orders
    FOREIGN KEY (orderid) REFERENCES orders (orderid) ON DELETE CASCADE;

--: cust_hist_to_customers
ALTER TABLE cust_hist ADD CONSTRAINT cust_hist_to_customers
    FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE CASCADE;

--: membership_to_customers
ALTER TABLE membership ADD CONSTRAINT membership_to_customers
    FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE CASCADE;

--: reviews_to_customers
ALTER TABLE reviews ADD CONSTRAINT reviews_to_customers
    FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE CASCADE;

--: helpfulness_to_reviews
ALTER TABLE reviews_helpfulness ADD CONSTRAINT helpfulness_to_reviews
    FOREIGN KEY (review_id) REFERENCES reviews (review_id) ON DELETE CASCADE;

--: restock
-- Fewer than 3 left: 250 more come, 2,500 of a popular product, and `reorder` remembers it. The update of the trigger's own
-- raises the stock and so restocks nothing.
CREATE TRIGGER restock ON inventory AFTER UPDATE
AS
BEGIN
    SET NOCOUNT ON;
    INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered)
    SELECT inserted.prod_id, SYSUTCDATETIME(), inserted.quan_in_stock, SYSUTCDATETIME(),
           CASE WHEN inserted.prod_id % 10000 = 0 THEN 2500 ELSE 250 END
    FROM inserted JOIN deleted ON deleted.prod_id = inserted.prod_id
    WHERE inserted.quan_in_stock < 3 AND inserted.quan_in_stock < deleted.quan_in_stock;

    IF @@ROWCOUNT > 0
        UPDATE inventory
        SET quan_in_stock = inventory.quan_in_stock + CASE WHEN inserted.prod_id % 10000 = 0 THEN 2500 ELSE 250 END
        FROM inserted JOIN deleted ON deleted.prod_id = inserted.prod_id
        WHERE inventory.prod_id = inserted.prod_id
          AND inserted.quan_in_stock < 3 AND inserted.quan_in_stock < deleted.quan_in_stock;
END;
