-- The layout of a TPROC-C schema as HammerDB 6 builds it on PostgreSQL (names, types and indexes), two warehouses small: 120 items,
-- 30 customers and orders of each district, of which nine orders wait. The rows are this project's; as in HammerDB's, only half of
-- the customers have ordered.

CREATE TABLE warehouse (
    w_id integer NOT NULL PRIMARY KEY, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
    w_tax numeric(4, 4) NOT NULL, w_ytd numeric(16, 2) NOT NULL);
CREATE TABLE district (
    d_w_id integer NOT NULL, d_next_o_id integer NOT NULL, d_id smallint NOT NULL, d_ytd numeric(12, 2) NOT NULL,
    d_tax numeric(4, 4) NOT NULL, d_name varchar(10) NOT NULL, d_street_1 varchar(20) NOT NULL,
    d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL, d_state char(2) NOT NULL, d_zip char(9) NOT NULL,
    PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (
    c_since timestamptz NOT NULL, c_id integer NOT NULL, c_w_id integer NOT NULL, c_d_id smallint NOT NULL,
    c_payment_cnt smallint NOT NULL, c_delivery_cnt smallint NOT NULL, c_first varchar(16) NOT NULL,
    c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL, c_street_1 varchar(20) NOT NULL,
    c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL, c_state char(2) NOT NULL, c_zip char(9) NOT NULL,
    c_phone char(16) NOT NULL, c_credit char(2) NOT NULL, c_credit_lim numeric(12, 2) NOT NULL,
    c_discount numeric(4, 4) NOT NULL, c_balance numeric(12, 2) NOT NULL, c_ytd_payment numeric(12, 2) NOT NULL,
    c_data varchar(500) NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE history (
    h_date timestamptz NOT NULL, h_c_id integer, h_c_w_id integer NOT NULL, h_w_id integer NOT NULL,
    h_c_d_id smallint NOT NULL, h_d_id smallint NOT NULL, h_amount numeric(6, 2) NOT NULL, h_data varchar(24) NOT NULL);
CREATE TABLE item (
    i_id integer NOT NULL PRIMARY KEY, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL,
    i_price numeric(5, 2) NOT NULL, i_data varchar(50) NOT NULL);
CREATE TABLE stock (
    s_i_id integer NOT NULL, s_w_id integer NOT NULL, s_ytd integer NOT NULL, s_quantity smallint NOT NULL,
    s_order_cnt smallint NOT NULL, s_remote_cnt smallint NOT NULL, s_dist_01 char(24) NOT NULL,
    s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL,
    s_dist_06 char(24) NOT NULL, s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL,
    s_dist_10 char(24) NOT NULL, s_data varchar(50) NOT NULL, PRIMARY KEY (s_i_id, s_w_id));
CREATE TABLE new_order (
    no_w_id integer NOT NULL, no_o_id integer NOT NULL, no_d_id smallint NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE orders (
    o_entry_d timestamptz NOT NULL, o_id integer NOT NULL, o_w_id integer NOT NULL, o_c_id integer NOT NULL,
    o_d_id smallint NOT NULL, o_carrier_id smallint, o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE order_line (
    ol_delivery_d timestamptz, ol_o_id integer NOT NULL, ol_w_id integer NOT NULL, ol_i_id integer NOT NULL,
    ol_supply_w_id integer NOT NULL, ol_d_id smallint NOT NULL, ol_number smallint NOT NULL,
    ol_quantity smallint NOT NULL, ol_amount numeric(6, 2), ol_dist_info char(24),
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) PARTITION BY HASH (ol_w_id);
CREATE TABLE ol_0 PARTITION OF order_line FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ol_1 PARTITION OF order_line FOR VALUES WITH (MODULUS 2, REMAINDER 1);

INSERT INTO item SELECT i, i, 'item ' || i, 1 + i / 10.0, 'data' FROM generate_series(1, 120) AS i;
INSERT INTO warehouse SELECT w, 'house ' || w, 's', 's', 'c', 'st', '123411111', 0.1, 3000 FROM generate_series(1, 2) AS w;
INSERT INTO district
SELECT w, 31, d, 300, 0.1, 'district', 's', 's', 'c', 'st', '123411111'
FROM generate_series(1, 2) AS w, generate_series(1, 10) AS d;
INSERT INTO stock
SELECT i, w, 0, 10 + i % 90, 0, 0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'data'
FROM generate_series(1, 2) AS w, generate_series(1, 120) AS i;
INSERT INTO customer
SELECT now(), c, w, d, 1, 0, 'first ' || c, 'OE',
       (ARRAY ['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'])[(c - 1) / 100 % 10 + 1]
    || (ARRAY ['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'])[(c - 1) / 10 % 10 + 1]
    || (ARRAY ['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'])[(c - 1) % 10 + 1],
       's', 's', 'c', 'st', '123411111', '0123456789012345', CASE WHEN c % 10 = 0 THEN 'BC' ELSE 'GC' END, 50000, 0.1,
       -10, 10, 'data'
FROM generate_series(1, 2) AS w, generate_series(1, 10) AS d, generate_series(1, 30) AS c;
INSERT INTO history
SELECT now(), c_id, c_w_id, c_w_id, c_d_id, c_d_id, 10, 'data' FROM customer;
INSERT INTO orders
SELECT now(), o, w, (32 - o) / 2, d, CASE WHEN o <= 21 THEN 5 END, 6, 1
FROM generate_series(1, 2) AS w, generate_series(1, 10) AS d, generate_series(1, 30) AS o;
INSERT INTO new_order SELECT o_w_id, o_id, o_d_id FROM orders WHERE o_id > 21;
INSERT INTO order_line
SELECT CASE WHEN o_id <= 21 THEN now() END, o_id, o_w_id, (o_id * 7 + line) % 120 + 1, o_w_id, o_d_id, line, 5,
       CASE WHEN o_id <= 21 THEN 0 ELSE line * 1.5 END, 'information'
FROM orders, generate_series(1, 6) AS line;
CREATE UNIQUE INDEX customer_i2 ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
CREATE UNIQUE INDEX orders_i2 ON orders (o_w_id, o_d_id, o_c_id, o_id);
