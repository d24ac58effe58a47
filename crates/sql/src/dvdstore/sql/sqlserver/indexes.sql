-- Keys and indexes, built after the load. Each is a part of the load by itself: `--: name` begins one. The clustered key
-- puts a table into order; an index of the same table follows in the same part, so that it is built once.

--: customers
ALTER TABLE customers ADD CONSTRAINT customers_key PRIMARY KEY CLUSTERED (customerid);
CREATE UNIQUE INDEX customers_username ON customers (username);

--: orders
ALTER TABLE orders ADD CONSTRAINT orders_key PRIMARY KEY CLUSTERED (orderid);
CREATE INDEX orders_customer ON orders (customerid);

--: orderlines
ALTER TABLE orderlines ADD CONSTRAINT orderlines_key PRIMARY KEY CLUSTERED (orderid, orderlineid);

--: cust_hist
ALTER TABLE cust_hist ADD CONSTRAINT cust_hist_key PRIMARY KEY CLUSTERED (customerid, prod_id, orderid);

--: categories
ALTER TABLE categories ADD CONSTRAINT categories_key PRIMARY KEY CLUSTERED (category);

--: products
ALTER TABLE products ADD CONSTRAINT products_key PRIMARY KEY CLUSTERED (prod_id);
CREATE INDEX products_category ON products (category, special);
CREATE INDEX products_membership ON products (membership_item);

--: inventory
ALTER TABLE inventory ADD CONSTRAINT inventory_key PRIMARY KEY CLUSTERED (prod_id);

--: reorder
CREATE INDEX reorder_product ON reorder (prod_id);

--: membership
ALTER TABLE membership ADD CONSTRAINT membership_key PRIMARY KEY CLUSTERED (customerid);

--: reviews
ALTER TABLE reviews ADD CONSTRAINT reviews_key PRIMARY KEY CLUSTERED (review_id);
CREATE INDEX reviews_stars ON reviews (prod_id, stars);
CREATE INDEX reviews_date ON reviews (prod_id, review_date);

--: helpfulness
ALTER TABLE reviews_helpfulness ADD CONSTRAINT helpfulness_key PRIMARY KEY CLUSTERED (reviews_helpfulness_id);
CREATE INDEX helpfulness_review ON reviews_helpfulness (review_id);
CREATE INDEX helpfulness_customer ON reviews_helpfulness (customerid);
