-- The operations of a shopper, statement by statement; an operation of one statement is the same by procedures. The read that a
-- later write builds on locks its row. The first line of each names the types of its parameters, so that none is converted
-- where an index should be used.

--: login
-- @P1 varchar(50), @P2 varchar(50)
-- Name and password, and with them what the customer bought last and what goes with it.
SELECT TOP (10) c.customerid, bought.title, bought.actor, related.title
FROM customers AS c
LEFT JOIN cust_hist AS h ON h.customerid = c.customerid
LEFT JOIN products AS bought ON bought.prod_id = h.prod_id
LEFT JOIN products AS related ON related.prod_id = bought.common_prod_id
WHERE c.username = @P1 AND c.password = @P2
ORDER BY h.orderid DESC;

--: new_customer
-- @P1 varchar(50), @P2 varchar(50), @P3 varchar(50), @P4 varchar(50), @P5 varchar(50), @P6 varchar(50), @P7 int, @P8 varchar(50), @P9 smallint, @P10 varchar(50), @P11 varchar(50), @P12 int, @P13 varchar(50), @P14 varchar(50), @P15 varchar(50), @P16 varchar(50), @P17 smallint, @P18 int, @P19 char(1)
-- No row comes back if the name is taken.
INSERT INTO customers (firstname, lastname, address1, address2, city, state, zip, country, region, email, phone, creditcardtype,
                       creditcard, creditcardexpiration, username, password, age, income, gender)
OUTPUT inserted.customerid
SELECT @P1, @P2, @P3, @P4, @P5, @P6, @P7, @P8, @P9, @P10, @P11, @P12, @P13, @P14, @P15, @P16, @P17, @P18, @P19
WHERE NOT EXISTS (SELECT 1 FROM customers WITH (UPDLOCK, HOLDLOCK) WHERE username = @P15);

--: new_member
-- @P1 int, @P2 smallint, @P3 date
-- Nothing happens if the customer is one already.
INSERT INTO membership (customerid, membershiptype, expiredate)
SELECT @P1, @P2, @P3
WHERE NOT EXISTS (SELECT 1 FROM membership WITH (UPDLOCK, HOLDLOCK) WHERE customerid = @P1);

--: browse_category
-- @P1 smallint, @P2 int
SELECT TOP (@P2) prod_id, category, title, actor, price, special, common_prod_id, membership_item
FROM products WHERE category = @P1 AND special = 1;

--: browse_actor
-- @P1 varchar(50), @P2 int
DECLARE @words nvarchar(100) = CONCAT('"', REPLACE(@P1, ' ', '" AND "'), '"');
SELECT TOP (@P2) prod_id, category, title, actor, price, special, common_prod_id, membership_item
FROM products WHERE CONTAINS(actor, @words);

--: browse_title
-- @P1 varchar(50), @P2 int
DECLARE @words nvarchar(100) = CONCAT('"', REPLACE(@P1, ' ', '" AND "'), '"');
SELECT TOP (@P2) prod_id, category, title, actor, price, special, common_prod_id, membership_item
FROM products WHERE CONTAINS(title, @words);

--: search_reviews_actor
-- @P1 varchar(50), @P2 int
-- Of the first 500 rated reviews of products that match, those that were found most helpful.
DECLARE @words nvarchar(100) = CONCAT('"', @P1, '"');
SELECT p.title, p.actor, r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, best.total
FROM (
    SELECT TOP (@P2) found.review_id, SUM(h.helpfulness) AS total
    FROM (
        SELECT TOP (500) reviews.review_id
        FROM products JOIN reviews ON reviews.prod_id = products.prod_id
        WHERE CONTAINS(products.actor, @words)
    ) AS found
    JOIN reviews_helpfulness AS h ON h.review_id = found.review_id
    GROUP BY found.review_id
    ORDER BY total DESC
) AS best
JOIN reviews AS r ON r.review_id = best.review_id
JOIN products AS p ON p.prod_id = r.prod_id
ORDER BY best.total DESC;

--: search_reviews_title
-- @P1 varchar(50), @P2 int
DECLARE @words nvarchar(100) = CONCAT('"', @P1, '"');
SELECT p.title, p.actor, r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, best.total
FROM (
    SELECT TOP (@P2) found.review_id, SUM(h.helpfulness) AS total
    FROM (
        SELECT TOP (500) reviews.review_id
        FROM products JOIN reviews ON reviews.prod_id = products.prod_id
        WHERE CONTAINS(products.title, @words)
    ) AS found
    JOIN reviews_helpfulness AS h ON h.review_id = found.review_id
    GROUP BY found.review_id
    ORDER BY total DESC
) AS best
JOIN reviews AS r ON r.review_id = best.review_id
JOIN products AS p ON p.prod_id = r.prod_id
ORDER BY best.total DESC;

--: reviews_by_rating
-- @P1 int, @P2 int
SELECT TOP (@P2) r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, rated.total
FROM reviews AS r
OUTER APPLY (SELECT SUM(h.helpfulness) AS total FROM reviews_helpfulness AS h WHERE h.review_id = r.review_id) AS rated
WHERE r.prod_id = @P1
ORDER BY rated.total DESC;

--: reviews_by_stars
-- @P1 int, @P2 smallint, @P3 int
SELECT TOP (@P3) r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, rated.total
FROM reviews AS r
OUTER APPLY (SELECT SUM(h.helpfulness) AS total FROM reviews_helpfulness AS h WHERE h.review_id = r.review_id) AS rated
WHERE r.prod_id = @P1 AND r.stars = @P2
ORDER BY rated.total DESC;

--: reviews_by_date
-- @P1 int, @P2 int
SELECT TOP (@P2) r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, rated.total
FROM reviews AS r
OUTER APPLY (SELECT SUM(h.helpfulness) AS total FROM reviews_helpfulness AS h WHERE h.review_id = r.review_id) AS rated
WHERE r.prod_id = @P1
ORDER BY r.review_date DESC;

--: new_review
-- @P1 int, @P2 date, @P3 smallint, @P4 int, @P5 varchar(50), @P6 varchar(1000)
INSERT INTO reviews (prod_id, review_date, stars, customerid, review_summary, review_text) VALUES (@P1, @P2, @P3, @P4, @P5, @P6);

--: rate_review
-- @P1 int, @P2 int, @P3 smallint
INSERT INTO reviews_helpfulness (review_id, customerid, helpfulness) VALUES (@P1, @P2, @P3);

--: prices
-- @P1 nvarchar(4000)
-- Of the products in the cart, a list.
SELECT prod_id, price FROM products WHERE prod_id IN (SELECT CAST(cart.value AS int) FROM OPENJSON(@P1) AS cart);

--: order_added
-- @P1 date, @P2 int, @P3 decimal(12, 2), @P4 decimal(12, 2), @P5 decimal(12, 2)
INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount)
OUTPUT inserted.orderid
VALUES (@P1, @P2, @P3, @P4, @P5);

--: stock
-- @P1 int
SELECT quan_in_stock FROM inventory WITH (UPDLOCK) WHERE prod_id = @P1;

--: stock_taken
-- @P1 smallint, @P2 smallint, @P3 int
UPDATE inventory SET quan_in_stock = quan_in_stock - @P1, sales = sales + @P2 WHERE prod_id = @P3;

--: line_added
-- @P1 int, @P2 smallint, @P3 int, @P4 smallint, @P5 date
INSERT INTO orderlines (orderid, orderlineid, prod_id, quantity, orderdate) VALUES (@P1, @P2, @P3, @P4, @P5);

--: history_added
-- @P1 int, @P2 int, @P3 int
INSERT INTO cust_hist (customerid, orderid, prod_id) VALUES (@P1, @P2, @P3);
