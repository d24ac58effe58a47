CREATE TABLE fathom_rows (rec_num int NOT NULL PRIMARY KEY, payload varchar(max) NOT NULL)
