-- Indexes beside the keys, built after the load. Each is a part of the load by itself: `--: name` begins one.

--: customers_username
CREATE UNIQUE INDEX /*M! IF NOT EXISTS */ customers_username ON customers (username);

--: orders_customer
CREATE INDEX /*M! IF NOT EXISTS */ orders_customer ON orders (customerid);

--: products_category
CREATE INDEX /*M! IF NOT EXISTS */ products_category ON products (category, special);

--: products_membership
CREATE INDEX /*M! IF NOT EXISTS */ products_membership ON products (membership_item);

--: products_title
CREATE FULLTEXT INDEX /*M! IF NOT EXISTS */ products_title ON products (title);

--: products_actor
CREATE FULLTEXT INDEX /*M! IF NOT EXISTS */ products_actor ON products (actor);

--: reorder_product
CREATE INDEX /*M! IF NOT EXISTS */ reorder_product ON reorder (prod_id);

--: reviews_stars
CREATE INDEX /*M! IF NOT EXISTS */ reviews_stars ON reviews (prod_id, stars);

--: reviews_date
CREATE INDEX /*M! IF NOT EXISTS */ reviews_date ON reviews (prod_id, review_date);

--: reviews_customer
-- A foreign key needs one.
CREATE INDEX /*M! IF NOT EXISTS */ reviews_customer ON reviews (customerid);

--: helpfulness_review
CREATE INDEX /*M! IF NOT EXISTS */ helpfulness_review ON reviews_helpfulness (review_id);

--: helpfulness_customer
CREATE INDEX /*M! IF NOT EXISTS */ helpfulness_customer ON reviews_helpfulness (customerid);
