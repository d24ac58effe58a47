CREATE TABLE fathom_rows (rec_num integer PRIMARY KEY, payload text NOT NULL);
-- Not compressed: the log and the table get the bytes that were asked for.
ALTER TABLE fathom_rows ALTER COLUMN payload SET STORAGE EXTERNAL;
COMMENT ON TABLE fathom_rows IS 'made by Fathom'
