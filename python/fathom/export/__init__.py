"""Settings of volumes in the words of other systems: Storage Spaces, LVM, systemd, Terraform, vSphere.

`settings` reads, `rules` decides key by key what a target can say, `targets/` holds one file per target, `quote` keeps
hostile names harmless. What a target cannot say is refused by name, with what to do about it.
"""
