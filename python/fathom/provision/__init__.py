"""What a run finds around it: volumes mounted as places, private database servers. Every step undoes itself."""
