-- How a session calls the procedure: one remote call with parameters of these names.

--: purchase
EXEC purchase @customer, @items, @quantities;
