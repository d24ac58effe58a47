"""`python -m fathom` is the command `fathom`."""

from fathom.cli import main

try:
    main()
finally:
    # CPython remembers a KeyboardInterrupt that has passed through exec(), which dataclasses use while they are made.
    # It would end `python -m` by SIGINT whatever the exit code, unless another exec() follows (run_eval_code_obj).
    exec("")
