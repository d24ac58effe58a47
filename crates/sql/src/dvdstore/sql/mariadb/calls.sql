-- How a session calls the procedure.

--: purchase
CALL purchase(?, ?, ?);
