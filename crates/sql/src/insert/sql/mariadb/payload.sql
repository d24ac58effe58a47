CREATE TABLE fathom_rows (rec_num INT PRIMARY KEY, payload MEDIUMTEXT CHARACTER SET ascii NOT NULL) ENGINE = InnoDB COMMENT = 'made by Fathom'
