-- DVD Store's eleven tables; InnoDB keeps each in the order of its key. Foreign keys follow after the load (rules.sql).
-- `quan_received` is this workload's own: what was ever in stock before the first restock, so that stock and sales can be
-- checked.

CREATE TABLE IF NOT EXISTS customers (
    customerid           int         NOT NULL AUTO_INCREMENT,
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
    gender               char(1),
    PRIMARY KEY (customerid)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS orders (
    orderid     int            NOT NULL AUTO_INCREMENT,
    orderdate   date           NOT NULL,
    customerid  int,
    netamount   decimal(12, 2) NOT NULL,
    tax         decimal(12, 2) NOT NULL,
    totalamount decimal(12, 2) NOT NULL,
    PRIMARY KEY (orderid)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS orderlines (
    orderid     int      NOT NULL,
    orderlineid smallint NOT NULL,
    prod_id     int      NOT NULL,
    quantity    smallint NOT NULL,
    orderdate   date     NOT NULL,
    PRIMARY KEY (orderid, orderlineid)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS cust_hist (
    customerid int NOT NULL,
    orderid    int NOT NULL,
    prod_id    int NOT NULL,
    PRIMARY KEY (customerid, prod_id, orderid)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS categories (
    category     smallint    NOT NULL,
    categoryname varchar(50) NOT NULL,
    PRIMARY KEY (category)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

-- Not in a binary collation as the others: a full-text index built over rows that are there already finds none of them then
-- (seen with MariaDB 10.11.19).
CREATE TABLE IF NOT EXISTS products (
    prod_id         int            NOT NULL,
    category        smallint       NOT NULL,
    title           varchar(50)    NOT NULL,
    actor           varchar(50)    NOT NULL,
    price           decimal(12, 2) NOT NULL,
    special         smallint       NOT NULL,
    common_prod_id  int            NOT NULL,
    membership_item smallint       NOT NULL,
    PRIMARY KEY (prod_id)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_general_cs COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS inventory (
    prod_id       int NOT NULL,
    quan_in_stock int NOT NULL,
    sales         int NOT NULL,
    quan_received int NOT NULL,
    PRIMARY KEY (prod_id)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS reorder (
    prod_id        int  NOT NULL,
    date_low       date NOT NULL,
    quan_low       int  NOT NULL,
    date_reordered date,
    quan_reordered int,
    date_expected  date
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS membership (
    customerid     int      NOT NULL,
    membershiptype smallint NOT NULL,
    expiredate     date     NOT NULL,
    PRIMARY KEY (customerid)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS reviews (
    review_id      int           NOT NULL AUTO_INCREMENT,
    prod_id        int           NOT NULL,
    review_date    date          NOT NULL,
    stars          smallint      NOT NULL,
    customerid     int           NOT NULL,
    review_summary varchar(50)   NOT NULL,
    review_text    varchar(1000) NOT NULL,
    PRIMARY KEY (review_id)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';

CREATE TABLE IF NOT EXISTS reviews_helpfulness (
    reviews_helpfulness_id bigint   NOT NULL AUTO_INCREMENT,
    review_id              int      NOT NULL,
    customerid             int      NOT NULL,
    helpfulness            smallint NOT NULL,
    PRIMARY KEY (reviews_helpfulness_id)
) ENGINE = InnoDB DEFAULT CHARSET = latin1 COLLATE = latin1_bin COMMENT = 'made by Fathom';
