-- How a session calls the function.

--: purchase
SELECT purchase($1, $2, $3);
