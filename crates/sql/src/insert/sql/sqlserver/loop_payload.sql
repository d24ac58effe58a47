-- The loop inside the server: rows from the one after @begun to @most, or until the time is over. A transaction ends after
-- @per_transaction rows and with the call; 1: a row commits by itself; 0: it is the caller's.
CREATE PROCEDURE fathom_loop (
    @begun int, @most int, @per_transaction int, @milliseconds int, @payload varchar(max)
)
AS
BEGIN
    -- A procedure has no comment of its own: made by Fathom.
    -- Without it the server would tell of every row.
    SET NOCOUNT ON;
    DECLARE @done int = @begun, @uncommitted int = 0, @over int = 0;
    DECLARE @ends datetime2(3) = DATEADD(millisecond, @milliseconds, SYSUTCDATETIME());
    WHILE @over = 0
    BEGIN
        IF @per_transaction > 1 AND @uncommitted = 0
        BEGIN
            BEGIN TRANSACTION;
        END;
        SET @done = @done + 1;
        SET @uncommitted = @uncommitted + 1;
        INSERT INTO fathom_rows
            (rec_num, payload)
        VALUES
            (@done, @payload);
        IF @uncommitted >= @per_transaction OR @done >= @most
        BEGIN
            IF @per_transaction > 1
            BEGIN
                COMMIT TRANSACTION;
            END;
            SET @uncommitted = 0;
            IF @done >= @most OR SYSUTCDATETIME() >= @ends
            BEGIN
                SET @over = 1;
            END;
        END;
    END;
    SELECT @done AS done;
END
