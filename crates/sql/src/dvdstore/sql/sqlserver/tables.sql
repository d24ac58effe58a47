-- DVD Store's eleven tables, loaded as heaps. Keys, indexes and foreign keys follow after the load (indexes.sql, rules.sql).
-- `quan_received` is this workload's own: what was ever in stock before the first restock, so that stock and sales can be
-- checked. The load brings the numbers of the identity columns with it (bulk copy keeps them).

CREATE TABLE customers (
    customerid           int         IDENTITY(1, 1) NOT NULL,
    firstname            varchar(50) NOT NULL,
    lastname             varchar(50) NOT NULL,
    address1             varchar(50) NOT NULL,
    address2             varchar(50),
    city                 varchar(50) NOT NULL,
    state                varchar(50),
    zip                  int,
    country              varchar(50) NOT NULL,
    region               smallint    NOT NULL,
    email                varchar(50),
    phone                varchar(50),
    creditcardtype       int         NOT NULL,
    creditcard           varchar(50) NOT NULL,
    creditcardexpiration varchar(50) NOT NULL,
    username             varchar(50) NOT NULL,
    password             varchar(50) NOT NULL,
    age                  smallint,
    income               int,
    gender               char(1)
);

CREATE TABLE orders (
    orderid     int            IDENTITY(1, 1) NOT NULL,
    orderdate   date           NOT NULL,
    customerid  int,
    netamount   decimal(12, 2) NOT NULL,
    tax         decimal(12, 2) NOT NULL,
    totalamount decimal(12, 2) NOT NULL
);

CREATE TABLE orderlines (
    orderid     int      NOT NULL,
    orderlineid smallint NOT NULL,
    prod_id     int      NOT NULL,
    quantity    smallint NOT NULL,
    orderdate   date     NOT NULL
);

CREATE TABLE cust_hist (
    customerid int NOT NULL,
    orderid    int NOT NULL,
    prod_id    int NOT NULL
);

CREATE TABLE categories (
    category     smallint    NOT NULL,
    categoryname varchar(50) NOT NULL
);

CREATE TABLE products (
    prod_id         int            NOT NULL,
    category        smallint       NOT NULL,
    title           varchar(50)    NOT NULL,
    actor           varchar(50)    NOT NULL,
    price           decimal(12, 2) NOT NULL,
    special         smallint       NOT NULL,
    common_prod_id  int            NOT NULL,
    membership_item smallint       NOT NULL
);

CREATE TABLE inventory (
    prod_id       int NOT NULL,
    quan_in_stock int NOT NULL,
    sales         int NOT NULL,
    quan_received int NOT NULL
);

CREATE TABLE reorder (
    prod_id        int  NOT NULL,
    date_low       date NOT NULL,
    quan_low       int  NOT NULL,
    date_reordered date,
    quan_reordered int,
    date_expected  date
);

CREATE TABLE membership (
    customerid     int      NOT NULL,
    membershiptype smallint NOT NULL,
    expiredate     date     NOT NULL
);

CREATE TABLE reviews (
    review_id      int           IDENTITY(1, 1) NOT NULL,
    prod_id        int           NOT NULL,
    review_date    date          NOT NULL,
    stars          smallint      NOT NULL,
    customerid     int           NOT NULL,
    review_summary varchar(50)   NOT NULL,
    review_text    varchar(1000) NOT NULL
);

CREATE TABLE reviews_helpfulness (
    reviews_helpfulness_id bigint   IDENTITY(1, 1) NOT NULL,
    review_id              int      NOT NULL,
    customerid             int      NOT NULL,
    helpfulness            smallint NOT NULL
);
