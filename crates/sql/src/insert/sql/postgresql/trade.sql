CREATE TABLE fathom_rows (
    rec_num  integer PRIMARY KEY,
    date     char(8),
    time     char(8),
    reff     char(10),
    acc      char(10),
    stock    char(6),
    bs       char(1),
    price    char(8),
    qty      char(8),
    status   char(1),
    owflag   char(3),
    ordrec   char(8),
    firmid   char(5),
    checkord bytea,
    branchid char(5),
    sj       timestamp DEFAULT CURRENT_TIMESTAMP
);
COMMENT ON TABLE fathom_rows IS 'made by Fathom'
