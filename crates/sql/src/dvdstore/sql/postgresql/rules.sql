-- What holds from the end of the load on: numbers of new rows, references between tables, and the restock of a product that
-- runs out. Each goes alone.

--: numbers
SELECT setval(pg_get_serial_sequence('customers', 'customerid'), (SELECT max(customerid) FROM customers)),
       setval(pg_get_serial_sequence('orders', 'orderid'), (SELECT max(orderid) FROM orders)),
       setval(pg_get_serial_sequence('reviews', 'review_id'), (SELECT max(review_id) FROM reviews)),
       setval(pg_get_serial_sequence('reviews_helpfulness', 'reviews_helpfulness_id'),
              (SELECT max(reviews_helpfulness_id) FROM reviews_helpfulness));

--: orders_to_customers
ALTER TABLE orders ADD FOREIGN KEY (customerid) REFERENCES customers ON DELETE SET NULL;

--: orderlines_to_orders
ALTER TABLE orderlines ADD FOREIGN KEY (orderid) REFERENCES orders ON DELETE CASCADE;

--: cust_hist_to_customers
ALTER TABLE cust_hist ADD FOREIGN KEY (customerid) REFERENCES customers ON DELETE CASCADE;

--: membership_to_customers
ALTER TABLE membership ADD FOREIGN KEY (customerid) REFERENCES customers ON DELETE CASCADE;

--: reviews_to_customers
ALTER TABLE reviews ADD FOREIGN KEY (customerid) REFERENCES customers ON DELETE CASCADE;

--: helpfulness_to_reviews
ALTER TABLE reviews_helpfulness ADD FOREIGN KEY (review_id) REFERENCES reviews ON DELETE CASCADE;

--: restock
-- Fewer than 3 left: 250 more come, 2,500 of a popular product, and `reorder` remembers it.
CREATE FUNCTION restock() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    more integer := CASE WHEN NEW.prod_id % 10000 = 0 THEN 2500 ELSE 250 END;
BEGIN
    IF NEW.quan_in_stock < 3 AND NEW.quan_in_stock < OLD.quan_in_stock THEN
        INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered)
        VALUES (NEW.prod_id, current_date, NEW.quan_in_stock, current_date, more);
        NEW.quan_in_stock := NEW.quan_in_stock + more;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER restock BEFORE UPDATE ON inventory FOR EACH ROW EXECUTE FUNCTION restock();
