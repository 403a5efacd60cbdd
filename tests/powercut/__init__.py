"""The journal on a disk that loses power, tears and forgets writes, fails to flush, or is full. disk.c is that disk."""
