"""What the logs say of each device, as arrays that rules compute with, with what follows from them."""
