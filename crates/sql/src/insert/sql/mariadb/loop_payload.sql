-- The loop inside the server: rows from the one after `begun` to `most`, or until the time is over. A transaction ends after
-- `per_transaction` rows and with the call; 1: a row commits by itself; 0: it is the caller's.
CREATE PROCEDURE fathom_loop(
    IN begun INT, IN most INT, IN per_transaction INT, IN milliseconds INT,
    IN a_payload MEDIUMTEXT CHARACTER SET ascii
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
            (rec_num, payload)
        VALUES
            (done, a_payload);
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
