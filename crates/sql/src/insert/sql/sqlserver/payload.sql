CREATE TABLE fathom_rows (rec_num int NOT NULL CONSTRAINT made_by_fathom PRIMARY KEY, payload varchar(max) NOT NULL)
