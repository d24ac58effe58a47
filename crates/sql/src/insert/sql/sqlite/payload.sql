CREATE TABLE fathom_rows (rec_num INTEGER PRIMARY KEY, payload TEXT NOT NULL)
