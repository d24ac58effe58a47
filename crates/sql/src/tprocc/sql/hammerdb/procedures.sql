-- HammerDB's procedures on PostgreSQL (`pg_storedprocs` on), called as its own driver calls them.

--: orders
CALL neword($1::integer, $2::integer, $3::integer, $4::integer, $5::integer, 0.0, '', '', 0.0, 0.0, 0, localtimestamp(0));

--: pay
CALL payment($1::integer, $2::integer, $3::integer, $4::integer, $6::integer, $7::numeric, '0', $8::varchar, $5::integer,
             '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', localtimestamp(0), 0.0, 0.0, 0.0, '',
             localtimestamp(0));

--: order_status
CALL ostat($1::integer, $2::integer, $3::integer, $4::integer, $5::varchar, '', '', 0.0, 0, localtimestamp(0), 0, '');

--: deliver
CALL delivery($1::integer, $2::integer, localtimestamp(0));

--: stock_level
CALL slev($1::integer, $2::integer, $3::integer, 0);
