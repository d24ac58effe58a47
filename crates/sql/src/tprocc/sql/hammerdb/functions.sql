-- HammerDB's functions on PostgreSQL (`pg_storedprocs` off), called as its own driver calls them.

--: orders
SELECT neword($1::integer, $2::integer, $3::integer, $4::integer, $5::integer, 0);

--: pay
SELECT payment($1::integer, $2::integer, $3::integer, $4::integer, $5::integer, $6::integer, $7::numeric, $8::varchar, '0', 0);

--: order_status
SELECT ol_i_id
FROM ostat($1::integer, $2::integer, $3::integer, $4::integer, $5::varchar) AS (
    ol_i_id integer, ol_supply_w_id integer, ol_quantity smallint, ol_amount numeric, ol_delivery_d timestamp with time zone,
    out_os_c_id integer, out_os_c_last character varying, os_c_first character varying, os_c_middle character varying,
    os_c_balance numeric, os_o_id integer, os_entdate timestamp, os_o_carrier_id integer);

--: deliver
SELECT delivery($1::integer, $2::integer);

--: stock_level
SELECT slev($1::integer, $2::integer, $3::integer);
