-- Keys and indexes, built after the load. Each is a part of the load by itself: `--: name` begins one.

--: customers_key
ALTER TABLE customers ADD PRIMARY KEY (customerid);

--: customers_username
CREATE UNIQUE INDEX customers_username ON customers (username);

--: orders_key
ALTER TABLE orders ADD PRIMARY KEY (orderid);

--: orders_customer
CREATE INDEX orders_customer ON orders (customerid);

--: orderlines_key
ALTER TABLE orderlines ADD PRIMARY KEY (orderid, orderlineid);

--: cust_hist_key
ALTER TABLE cust_hist ADD PRIMARY KEY (customerid, prod_id, orderid);

--: categories_key
ALTER TABLE categories ADD PRIMARY KEY (category);

--: products_key
ALTER TABLE products ADD PRIMARY KEY (prod_id);

--: products_category
CREATE INDEX products_category ON products (category, special);

--: products_membership
CREATE INDEX products_membership ON products (membership_item);

--: products_title
CREATE INDEX products_title ON products USING gin (to_tsvector('simple', title));

--: products_actor
CREATE INDEX products_actor ON products USING gin (to_tsvector('simple', actor));

--: inventory_key
ALTER TABLE inventory ADD PRIMARY KEY (prod_id);

--: reorder_product
CREATE INDEX reorder_product ON reorder (prod_id);

--: membership_key
ALTER TABLE membership ADD PRIMARY KEY (customerid);

--: reviews_key
ALTER TABLE reviews ADD PRIMARY KEY (review_id);

--: reviews_stars
CREATE INDEX reviews_stars ON reviews (prod_id, stars);

--: reviews_date
CREATE INDEX reviews_date ON reviews (prod_id, review_date);

--: helpfulness_key
ALTER TABLE reviews_helpfulness ADD PRIMARY KEY (reviews_helpfulness_id);

--: helpfulness_review
CREATE INDEX helpfulness_review ON reviews_helpfulness (review_id);

--: helpfulness_customer
CREATE INDEX helpfulness_customer ON reviews_helpfulness (customerid);
