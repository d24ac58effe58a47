-- Keys and indexes, built after the load. Each is a part of the load by itself: `--: name` begins one. The clustered key
-- puts a table into order; an index of the same table follows in the same part, so that it is built once.

--: warehouse
ALTER TABLE warehouse ADD CONSTRAINT warehouse_key PRIMARY KEY CLUSTERED (w_id);

--: district
ALTER TABLE district ADD CONSTRAINT district_key PRIMARY KEY CLUSTERED (d_w_id, d_id);

--: item
ALTER TABLE item ADD CONSTRAINT item_key PRIMARY KEY CLUSTERED (i_id);

--: stock
ALTER TABLE stock ADD CONSTRAINT stock_key PRIMARY KEY CLUSTERED (s_w_id, s_i_id);

--: customer
ALTER TABLE customer ADD CONSTRAINT customer_key PRIMARY KEY CLUSTERED (c_w_id, c_d_id, c_id);
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);

--: orders
ALTER TABLE orders ADD CONSTRAINT orders_key PRIMARY KEY CLUSTERED (o_w_id, o_d_id, o_id);
CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);

--: new_order
ALTER TABLE new_order ADD CONSTRAINT new_order_key PRIMARY KEY CLUSTERED (no_w_id, no_d_id, no_o_id);

--: order_line
ALTER TABLE order_line ADD CONSTRAINT order_line_key PRIMARY KEY CLUSTERED (ol_w_id, ol_d_id, ol_o_id, ol_number);
