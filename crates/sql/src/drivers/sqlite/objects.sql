-- What has one of the names in the place of `{}`: what it is, its name, and whether it says that it is Fathom's.

--: objects
SELECT type, name, 0 FROM sqlite_master WHERE lower(name) IN ({});
