-- What holds from the end of the load on: the restock of a product that runs out.

--: restock
-- Fewer than 3 left: 250 more come, 2,500 of a popular product, and `reorder` remembers it.
CREATE TRIGGER restock AFTER UPDATE OF quan_in_stock ON inventory
WHEN NEW.quan_in_stock < 3 AND NEW.quan_in_stock < OLD.quan_in_stock
BEGIN
    INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered)
    VALUES (NEW.prod_id, unixepoch('now', 'start of day') * 1000000, NEW.quan_in_stock,
            unixepoch('now', 'start of day') * 1000000, CASE WHEN NEW.prod_id % 10000 = 0 THEN 2500 ELSE 250 END);
    UPDATE inventory
    SET quan_in_stock = quan_in_stock + CASE WHEN NEW.prod_id % 10000 = 0 THEN 2500 ELSE 250 END
    WHERE prod_id = NEW.prod_id;
END;
