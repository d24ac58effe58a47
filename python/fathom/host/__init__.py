"""The machine below: its hardware, mounts and block devices, and scratch space that is always returned."""
