-- Indexes beside the keys, built after the load. Each is a part of the load by itself: `--: name` begins one.

--: customers_username
CREATE UNIQUE INDEX customers_username ON customers (username);

--: orders_customer
CREATE INDEX orders_customer ON orders (customerid);

--: products_category
CREATE INDEX products_category ON products (category, special);

--: products_membership
CREATE INDEX products_membership ON products (membership_item);

--: products_text
-- The full-text index of titles and actors; products themselves never change.
CREATE VIRTUAL TABLE products_text USING fts5 (title, actor, content = 'products', content_rowid = 'prod_id');
INSERT INTO products_text (products_text) VALUES ('rebuild');

--: reorder_product
CREATE INDEX reorder_product ON reorder (prod_id);

--: reviews_stars
CREATE INDEX reviews_stars ON reviews (prod_id, stars);

--: reviews_date
CREATE INDEX reviews_date ON reviews (prod_id, review_date);

--: helpfulness_review
CREATE INDEX helpfulness_review ON reviews_helpfulness (review_id);

--: helpfulness_customer
CREATE INDEX helpfulness_customer ON reviews_helpfulness (customerid);
