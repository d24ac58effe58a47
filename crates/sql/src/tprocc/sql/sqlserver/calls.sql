-- How a session calls the procedures: each is one remote call with parameters of these names.

--: place_order
EXEC place_order @warehouse_id, @district_id, @customer_id, @items, @supplies, @quantities;

--: pay
EXEC pay @warehouse_id, @district_id, @customer_warehouse, @customer_district, @customer_id, @last_name, @amount;

--: order_status
EXEC order_status @warehouse_id, @district_id, @customer_id, @last_name;

--: deliver
EXEC deliver @warehouse_id, @carrier;

--: stock_level
EXEC stock_level @warehouse_id, @district_id, @threshold;
