-- The loop inside the server: rows from the one after `done` to `most`, or until the time is over. A transaction ends after
-- `per_transaction` rows and with the call; 0: it is the caller's.
CREATE PROCEDURE fathom_loop(
    INOUT done integer, most integer, per_transaction integer, milliseconds integer, a_date char(8), a_time char(8),
    a_reff char(10), a_acc char(10), a_stock char(6), a_bs char(1), a_price char(8), a_qty char(8), a_status char(1),
    a_owflag char(3), a_ordrec char(8), a_firmid char(5), a_checkord bytea, a_branchid char(5)
) LANGUAGE plpgsql AS $$
DECLARE
    ends timestamptz := clock_timestamp() + milliseconds * interval '1 millisecond';
    uncommitted integer := 0;
BEGIN
    LOOP
        done := done + 1;
        uncommitted := uncommitted + 1;
        INSERT INTO fathom_rows
            (rec_num, date, time, reff, acc, stock, bs, price, qty, status, owflag, ordrec, firmid, checkord, branchid)
        VALUES
            (done, a_date, a_time, a_reff, a_acc, a_stock, a_bs, a_price, a_qty, a_status, a_owflag, a_ordrec,
            a_firmid, a_checkord, a_branchid);
        IF uncommitted >= per_transaction OR done >= most THEN
            IF per_transaction > 0 THEN
                COMMIT;
            END IF;
            uncommitted := 0;
            EXIT WHEN done >= most OR clock_timestamp() >= ends;
        END IF;
    END LOOP;
END $$;
COMMENT ON PROCEDURE fathom_loop IS 'made by Fathom'
