"""One file per section of the report; the folder is scanned by `fathom.report.section`."""
