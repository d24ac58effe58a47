"""One rule per file, found by scanning this folder. `fathom.diagnose.rule` says what a rule is."""
