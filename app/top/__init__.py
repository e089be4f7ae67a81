"""How a running server stands, in a terminal."""
