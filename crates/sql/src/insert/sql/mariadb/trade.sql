CREATE TABLE fathom_rows (
    rec_num  INT PRIMARY KEY,
    date     CHAR(8),
    time     CHAR(8),
    reff     CHAR(10),
    acc      CHAR(10),
    stock    CHAR(6),
    bs       CHAR(1),
    price    CHAR(8),
    qty      CHAR(8),
    status   CHAR(1),
    owflag   CHAR(3),
    ordrec   CHAR(8),
    firmid   CHAR(5),
    checkord BINARY(16),
    branchid CHAR(5),
    sj       DATETIME DEFAULT CURRENT_TIMESTAMP
) ENGINE = InnoDB COMMENT = 'made by Fathom'
