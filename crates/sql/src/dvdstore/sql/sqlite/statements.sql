-- The operations of a shopper, statement by statement; an operation of one statement is the same by procedures.
-- A transaction has the database's one write lock, so that a read needs none of its own.

--: login
-- Name and password, and with them what the customer bought last and what goes with it.
SELECT c.customerid, bought.title, bought.actor, related.title
FROM customers AS c
LEFT JOIN cust_hist AS h ON h.customerid = c.customerid
LEFT JOIN products AS bought ON bought.prod_id = h.prod_id
LEFT JOIN products AS related ON related.prod_id = bought.common_prod_id
WHERE c.username = ?1 AND c.password = ?2
ORDER BY h.orderid DESC
LIMIT 10;

--: new_customer
-- No row comes back if the name is taken.
INSERT INTO customers (firstname, lastname, address1, address2, city, state, zip, country, region, email, phone, creditcardtype,
                       creditcard, creditcardexpiration, username, password, age, income, gender)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
ON CONFLICT DO NOTHING
RETURNING customerid;

--: new_member
-- Nothing happens if the customer is one already.
INSERT INTO membership (customerid, membershiptype, expiredate) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING;

--: browse_category
SELECT prod_id, category, title, actor, price, special, common_prod_id, membership_item
FROM products WHERE category = ?1 AND special = 1
LIMIT ?2;

--: browse_actor
SELECT prod_id, category, products.title, products.actor, price, special, common_prod_id, membership_item
FROM products_text JOIN products ON prod_id = products_text.rowid
WHERE products_text MATCH 'actor : (' || ?1 || ')'
LIMIT ?2;

--: browse_title
SELECT prod_id, category, products.title, products.actor, price, special, common_prod_id, membership_item
FROM products_text JOIN products ON prod_id = products_text.rowid
WHERE products_text MATCH 'title : (' || ?1 || ')'
LIMIT ?2;

--: search_reviews_actor
-- Of the first 500 rated reviews of products that match, those that were found most helpful.
SELECT p.title, p.actor, r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, best.total
FROM (
    SELECT found.review_id, sum(helpfulness) AS total
    FROM (
        SELECT review_id FROM products_text JOIN reviews ON prod_id = products_text.rowid
        WHERE products_text MATCH 'actor : (' || ?1 || ')'
        LIMIT 500
    ) AS found
    JOIN reviews_helpfulness AS h ON h.review_id = found.review_id
    GROUP BY found.review_id
    ORDER BY total DESC
    LIMIT ?2
) AS best
JOIN reviews AS r ON r.review_id = best.review_id
JOIN products AS p ON p.prod_id = r.prod_id
ORDER BY best.total DESC;

--: search_reviews_title
SELECT p.title, p.actor, r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, best.total
FROM (
    SELECT found.review_id, sum(helpfulness) AS total
    FROM (
        SELECT review_id FROM products_text JOIN reviews ON prod_id = products_text.rowid
        WHERE products_text MATCH 'title : (' || ?1 || ')'
        LIMIT 500
    ) AS found
    JOIN reviews_helpfulness AS h ON h.review_id = found.review_id
    GROUP BY found.review_id
    ORDER BY total DESC
    LIMIT ?2
) AS best
JOIN reviews AS r ON r.review_id = best.review_id
JOIN products AS p ON p.prod_id = r.prod_id
ORDER BY best.total DESC;

--: reviews_by_rating
SELECT r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, sum(h.helpfulness) AS total
FROM reviews AS r LEFT JOIN reviews_helpfulness AS h ON h.review_id = r.review_id
WHERE r.prod_id = ?1
GROUP BY r.review_id
ORDER BY total DESC
LIMIT ?2;

--: reviews_by_stars
SELECT r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, sum(h.helpfulness) AS total
FROM reviews AS r LEFT JOIN reviews_helpfulness AS h ON h.review_id = r.review_id
WHERE r.prod_id = ?1 AND r.stars = ?2
GROUP BY r.review_id
ORDER BY total DESC
LIMIT ?3;

--: reviews_by_date
SELECT r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, sum(h.helpfulness) AS total
FROM reviews AS r LEFT JOIN reviews_helpfulness AS h ON h.review_id = r.review_id
WHERE r.prod_id = ?1
GROUP BY r.review_id
ORDER BY r.review_date DESC
LIMIT ?2;

--: new_review
INSERT INTO reviews (prod_id, review_date, stars, customerid, review_summary, review_text) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

--: rate_review
INSERT INTO reviews_helpfulness (review_id, customerid, helpfulness) VALUES (?1, ?2, ?3);

--: prices
-- Of the products in the cart, a list.
SELECT prod_id, price FROM products WHERE prod_id IN (SELECT value FROM json_each(?1));

--: order_added
INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING orderid;

--: stock
SELECT quan_in_stock FROM inventory WHERE prod_id = ?1;

--: stock_taken
UPDATE inventory SET quan_in_stock = quan_in_stock - ?1, sales = sales + ?2 WHERE prod_id = ?3;

--: line_added
INSERT INTO orderlines (orderid, orderlineid, prod_id, quantity, orderdate) VALUES (?1, ?2, ?3, ?4, ?5);

--: history_added
INSERT INTO cust_hist (customerid, orderid, prod_id) VALUES (?1, ?2, ?3);
