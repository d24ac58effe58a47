-- The loop inside the server: rows from the one after `done` to `most`, or until the time is over. A transaction ends after
-- `per_transaction` rows and with the call; 0: it is the caller's.
CREATE PROCEDURE fathom_loop(
    INOUT done integer, most integer, per_transaction integer, milliseconds integer, a_payload text
) LANGUAGE plpgsql AS $$
DECLARE
    ends timestamptz := clock_timestamp() + milliseconds * interval '1 millisecond';
    uncommitted integer := 0;
BEGIN
    LOOP
        done := done + 1;
        uncommitted := uncommitted + 1;
        INSERT INTO fathom_rows
            (rec_num, payload)
        VALUES
            (done, a_payload);
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
