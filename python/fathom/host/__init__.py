"""The machine underneath: what it is, its mounts and block devices, and scratch space that is always given back."""
