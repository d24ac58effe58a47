"""What the logs hold of each device, as arrays for the rules, and what follows from them."""
