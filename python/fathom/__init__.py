"""Fathom measures, models and builds the storage under a relational database."""
