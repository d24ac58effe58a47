-- DVD Store's eleven tables. SQLite has no exact fractions: money is kept as whole cents, dates in microseconds since 1970.
-- `quan_received` is this workload's own: what was ever in stock before the first restock, so that stock and sales can be
-- checked. Foreign keys can only be declared here; they are enforced during the load too.

CREATE TABLE customers (
    customerid           integer PRIMARY KEY,
    firstname            text    NOT NULL,
    lastname             text    NOT NULL,
    address1             text    NOT NULL,
    address2             text,
    city                 text    NOT NULL,
    state                text,
    zip                  integer,
    country              text    NOT NULL,
    region               integer NOT NULL,
    email                text,
    phone                text,
    creditcardtype       integer NOT NULL,
    creditcard           text    NOT NULL,
    creditcardexpiration text    NOT NULL,
    username             text    NOT NULL,
    password             text    NOT NULL,
    age                  integer,
    income               integer,
    gender               text
);

CREATE TABLE orders (
    orderid     integer PRIMARY KEY,
    orderdate   integer NOT NULL,
    customerid  integer,
    netamount   integer NOT NULL,
    tax         integer NOT NULL,
    totalamount integer NOT NULL,
    FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE SET NULL
);

CREATE TABLE orderlines (
    orderid     integer NOT NULL,
    orderlineid integer NOT NULL,
    prod_id     integer NOT NULL,
    quantity    integer NOT NULL,
    orderdate   integer NOT NULL,
    PRIMARY KEY (orderid, orderlineid),
    FOREIGN KEY (orderid) REFERENCES orders (orderid) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE cust_hist (
    customerid integer NOT NULL,
    orderid    integer NOT NULL,
    prod_id    integer NOT NULL,
    PRIMARY KEY (customerid, prod_id, orderid),
    FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE categories (
    category     integer NOT NULL,
    categoryname text    NOT NULL,
    PRIMARY KEY (category)
) WITHOUT ROWID;

CREATE TABLE products (
    prod_id         integer NOT NULL,
    category        integer NOT NULL,
    title           text    NOT NULL,
    actor           text    NOT NULL,
    price           integer NOT NULL,
    special         integer NOT NULL,
    common_prod_id  integer NOT NULL,
    membership_item integer NOT NULL,
    PRIMARY KEY (prod_id)
);

CREATE TABLE inventory (
    prod_id       integer NOT NULL,
    quan_in_stock integer NOT NULL,
    sales         integer NOT NULL,
    quan_received integer NOT NULL,
    PRIMARY KEY (prod_id)
);

CREATE TABLE reorder (
    prod_id        integer NOT NULL,
    date_low       integer NOT NULL,
    quan_low       integer NOT NULL,
    date_reordered integer,
    quan_reordered integer,
    date_expected  integer
);

CREATE TABLE membership (
    customerid     integer NOT NULL,
    membershiptype integer NOT NULL,
    expiredate     integer NOT NULL,
    PRIMARY KEY (customerid),
    FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE reviews (
    review_id      integer PRIMARY KEY,
    prod_id        integer NOT NULL,
    review_date    integer NOT NULL,
    stars          integer NOT NULL,
    customerid     integer NOT NULL,
    review_summary text    NOT NULL,
    review_text    text    NOT NULL,
    FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE CASCADE
);

CREATE TABLE reviews_helpfulness (
    reviews_helpfulness_id integer PRIMARY KEY,
    review_id              integer NOT NULL,
    customerid             integer NOT NULL,
    helpfulness            integer NOT NULL,
    FOREIGN KEY (review_id) REFERENCES reviews (review_id) ON DELETE CASCADE
);
