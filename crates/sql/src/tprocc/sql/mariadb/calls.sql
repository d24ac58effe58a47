-- How a session calls the procedures.

--: place_order
CALL place_order(?, ?, ?, ?, ?, ?);

--: pay
CALL pay(?, ?, ?, ?, ?, ?, ?);

--: order_status
CALL order_status(?, ?, ?, ?);

--: deliver
CALL deliver(?, ?);

--: stock_level
CALL stock_level(?, ?, ?);
