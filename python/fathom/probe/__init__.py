"""`fathom probe`: what is under a path, how it answers, and what that means for a database. One file per step.

`place` looks, `matrix` measures on a scratch file without a name, `advice` says in plain sentences what follows. Only
`matrix` touches the disk.
"""
