-- The consistency conditions of DVD Store, this project's own: the original has none. Each answers in how many cases it does
-- not hold, 0 for a consistent database. CENT stands for a hundredth in the database's unit of money, REVIEWS and RATINGS for
-- what a product and a review have after the load.

--: stock
-- What is in stock is what came in less what was sold.
SELECT count(*)
FROM inventory
LEFT JOIN (SELECT prod_id, sum(quan_reordered) AS reordered FROM reorder GROUP BY prod_id) AS restocks
    ON restocks.prod_id = inventory.prod_id
WHERE quan_in_stock <> quan_received + coalesce(reordered, 0) - sales OR quan_in_stock < 0;

--: sales
-- A product's sales are the sum of its order lines.
SELECT count(*)
FROM inventory
LEFT JOIN (SELECT prod_id, sum(quantity) AS sold FROM orderlines GROUP BY prod_id) AS lines_of
    ON lines_of.prod_id = inventory.prod_id
WHERE sales <> coalesce(sold, 0);

--: net
-- An order's net amount is the sum of its lines at the products' prices, and every order has lines.
SELECT count(*)
FROM orders
LEFT JOIN (
    SELECT orderid, sum(quantity * price) AS amount
    FROM orderlines JOIN products ON products.prod_id = orderlines.prod_id
    GROUP BY orderid
) AS lines_of ON lines_of.orderid = orders.orderid
WHERE amount IS NULL OR netamount <> amount;

--: total
-- An order's tax is 8.25 % of the net amount, to the cent, and both make the total.
SELECT count(*) FROM orders
WHERE totalamount <> netamount + tax OR abs(tax * 10000 - netamount * 825) > 5000 * CENT;

--: lines
-- The lines of an order are numbered from 1 without a gap and bear its date.
SELECT count(*)
FROM orders
LEFT JOIN (
    SELECT orderid, min(orderlineid) AS first, max(orderlineid) AS last, count(*) AS counted,
           min(orderdate) AS earliest, max(orderdate) AS latest
    FROM orderlines GROUP BY orderid
) AS lines_of ON lines_of.orderid = orders.orderid
WHERE first IS NULL OR first <> 1 OR last <> counted OR earliest <> orders.orderdate OR latest <> orders.orderdate;

--: history
-- A customer's history holds the lines of his orders and nothing else.
SELECT (
    SELECT count(*)
    FROM orderlines
    JOIN orders ON orders.orderid = orderlines.orderid
    LEFT JOIN cust_hist ON cust_hist.customerid = orders.customerid AND cust_hist.prod_id = orderlines.prod_id
        AND cust_hist.orderid = orderlines.orderid
    WHERE cust_hist.orderid IS NULL
) + abs((SELECT count(*) FROM orderlines) - (SELECT count(*) FROM cust_hist));

--: owners
-- Orders, memberships and reviews belong to customers.
SELECT (
    SELECT count(*) FROM orders LEFT JOIN customers ON customers.customerid = orders.customerid
    WHERE customers.customerid IS NULL
) + (
    SELECT count(*) FROM membership LEFT JOIN customers ON customers.customerid = membership.customerid
    WHERE customers.customerid IS NULL
) + (
    SELECT count(*) FROM reviews LEFT JOIN customers ON customers.customerid = reviews.customerid
    WHERE customers.customerid IS NULL
);

--: parents
-- Lines belong to orders, reviews to products, ratings to reviews, restocks to products, and every product has a stock.
SELECT (
    SELECT count(*) FROM orderlines LEFT JOIN orders ON orders.orderid = orderlines.orderid
    WHERE orders.orderid IS NULL
) + (
    SELECT count(*) FROM reviews LEFT JOIN products ON products.prod_id = reviews.prod_id
    WHERE products.prod_id IS NULL
) + (
    SELECT count(*) FROM (SELECT DISTINCT review_id FROM reviews_helpfulness) AS rated
    LEFT JOIN reviews ON reviews.review_id = rated.review_id
    WHERE reviews.review_id IS NULL
) + (
    SELECT count(*) FROM reorder LEFT JOIN inventory ON inventory.prod_id = reorder.prod_id
    WHERE inventory.prod_id IS NULL
) + (
    SELECT count(*) FROM products LEFT JOIN inventory ON inventory.prod_id = products.prod_id
    WHERE inventory.prod_id IS NULL
);

--: marks
-- Reviews have 1 to 5 stars, ratings 1 to 10 points, members a level of 1 to 3.
SELECT (SELECT count(*) FROM reviews WHERE stars NOT BETWEEN 1 AND 5)
     + (SELECT count(*) FROM reviews_helpfulness WHERE helpfulness NOT BETWEEN 1 AND 10)
     + (SELECT count(*) FROM membership WHERE membershiptype NOT BETWEEN 1 AND 3);

--: loaded
-- Before the first operation: every product has its reviews, every review its ratings, and nothing was restocked.
SELECT (
    SELECT count(*) FROM products
    LEFT JOIN (SELECT prod_id, count(*) AS counted FROM reviews GROUP BY prod_id) AS of_product
        ON of_product.prod_id = products.prod_id
    WHERE coalesce(counted, 0) <> REVIEWS
) + (
    SELECT count(*) FROM reviews
    LEFT JOIN (SELECT review_id, count(*) AS counted FROM reviews_helpfulness GROUP BY review_id) AS of_review
        ON of_review.review_id = reviews.review_id
    WHERE coalesce(counted, 0) NOT BETWEEN 2 AND RATINGS
) + (SELECT count(*) FROM reorder);
