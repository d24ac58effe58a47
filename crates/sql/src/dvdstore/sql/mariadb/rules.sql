-- What holds from the end of the load on: references between tables, and the restock of a product that runs out. Each goes
-- alone. References are added without a look at the rows, which would copy each table; the consistency conditions look.

--: orders_to_customers
SET foreign_key_checks = 0;
ALTER TABLE orders ADD CONSTRAINT orders_to_customers FOREIGN KEY /*M! IF NOT EXISTS */ orders_to_customers (customerid) REFERENCES customers (customerid) ON DELETE SET NULL;
SET foreign_key_checks = 1;

--: orderlines_to_orders
SET foreign_key_checks = 0;
ALTER TABLE orderlines ADD CONSTRAINT orderlines_to_orders FOREIGN KEY /*M! IF NOT EXISTS */ orderlines_to_orders (orderid) REFERENCES orders (orderid) ON DELETE CASCADE;
SET foreign_key_checks = 1;

--: cust_hist_to_customers
SET foreign_key_checks = 0;
ALTER TABLE cust_hist ADD CONSTRAINT cust_hist_to_customers FOREIGN KEY /*M! IF NOT EXISTS */ cust_hist_to_customers (customerid) REFERENCES customers (customerid) ON DELETE CASCADE;
SET foreign_key_checks = 1;

--: membership_to_customers
SET foreign_key_checks = 0;
ALTER TABLE membership ADD CONSTRAINT membership_to_customers FOREIGN KEY /*M! IF NOT EXISTS */ membership_to_customers (customerid) REFERENCES customers (customerid) ON DELETE CASCADE;
SET foreign_key_checks = 1;

--: reviews_to_customers
SET foreign_key_checks = 0;
ALTER TABLE reviews ADD CONSTRAINT reviews_to_customers FOREIGN KEY /*M! IF NOT EXISTS */ reviews_to_customers (customerid) REFERENCES customers (customerid) ON DELETE CASCADE;
SET foreign_key_checks = 1;

--: helpfulness_to_reviews
SET foreign_key_checks = 0;
ALTER TABLE reviews_helpfulness ADD CONSTRAINT helpfulness_to_reviews FOREIGN KEY /*M! IF NOT EXISTS */ helpfulness_to_reviews (review_id) REFERENCES reviews (review_id) ON DELETE CASCADE;
SET foreign_key_checks = 1;

--: restock
-- Fewer than 3 left: 250 more come, 2,500 of a popular product, and `reorder` remembers it.
CREATE TRIGGER restock BEFORE UPDATE ON inventory FOR EACH ROW
BEGIN
    -- A trigger has no comment of its own: made by Fathom.
    DECLARE more int DEFAULT CASE WHEN NEW.prod_id % 10000 = 0 THEN 2500 ELSE 250 END;
    IF NEW.quan_in_stock < 3 AND NEW.quan_in_stock < OLD.quan_in_stock THEN
        INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered)
        VALUES (NEW.prod_id, curdate(), NEW.quan_in_stock, curdate(), more);
        SET NEW.quan_in_stock = NEW.quan_in_stock + more;
    END IF;
END;
