-- Indexes beside the keys, built after the load. Each is a part of the load by itself: `--: name` begins one.

--: customer_name
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);

--: orders_customer
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
