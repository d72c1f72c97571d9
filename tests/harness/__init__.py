"""What the end-to-end tests share: the program, and servers to point it at."""
