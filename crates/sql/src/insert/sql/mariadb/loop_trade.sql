-- The loop inside the server: rows from the one after `begun` to `most`, or until the time is over. A transaction ends after
-- `per_transaction` rows and with the call; 1: a row commits by itself; 0: it is the caller's.
CREATE PROCEDURE fathom_loop(
    IN begun INT, IN most INT, IN per_transaction INT, IN milliseconds INT, IN a_date CHAR(8), IN a_time CHAR(8),
    IN a_reff CHAR(10), IN a_acc CHAR(10), IN a_stock CHAR(6), IN a_bs CHAR(1), IN a_price CHAR(8), IN a_qty CHAR(8),
    IN a_status CHAR(1), IN a_owflag CHAR(3), IN a_ordrec CHAR(8), IN a_firmid CHAR(5), IN a_checkord BINARY(16),
    IN a_branchid CHAR(5)
)
COMMENT 'made by Fathom'
BEGIN
    DECLARE done INT DEFAULT begun;
    DECLARE uncommitted INT DEFAULT 0;
    DECLARE finished INT DEFAULT 0;
    DECLARE ends DATETIME(6) DEFAULT SYSDATE(6) + INTERVAL milliseconds * 1000 MICROSECOND;
    WHILE finished = 0 DO
        IF per_transaction > 1 AND uncommitted = 0 THEN
            START TRANSACTION;
        END IF;
        SET done = done + 1;
        SET uncommitted = uncommitted + 1;
        INSERT INTO fathom_rows
            (rec_num, date, time, reff, acc, stock, bs, price, qty, status, owflag, ordrec, firmid, checkord, branchid)
        VALUES
            (done, a_date, a_time, a_reff, a_acc, a_stock, a_bs, a_price, a_qty, a_status, a_owflag, a_ordrec,
            a_firmid, a_checkord, a_branchid);
        IF uncommitted >= per_transaction OR done >= most THEN
            IF per_transaction > 1 THEN
                COMMIT;
            END IF;
            SET uncommitted = 0;
            IF done >= most OR SYSDATE(6) >= ends THEN
                SET finished = 1;
            END IF;
        END IF;
    END WHILE;
    SELECT done;
END
