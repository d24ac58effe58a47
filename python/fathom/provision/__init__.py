"""The environment of a run: volumes mounted as places, private database servers. Every step undoes itself."""
