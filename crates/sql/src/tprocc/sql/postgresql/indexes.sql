-- Keys and indexes, built after the load. Each is a part of the load by itself: `--: name` begins one.

--: warehouse_key
ALTER TABLE warehouse ADD PRIMARY KEY (w_id);

--: district_key
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);

--: item_key
ALTER TABLE item ADD PRIMARY KEY (i_id);

--: stock_key
ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);

--: customer_key
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);

--: customer_name
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);

--: orders_key
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);

--: orders_customer
CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);

--: new_order_key
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);

--: order_line_key
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
