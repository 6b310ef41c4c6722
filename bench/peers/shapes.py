"""The shapes of bench/internal/problem/shape.go: name, query heads, key heads, Lq, Lk, D, causal."""

SHAPES = [
    ("A", 8, 8, 1024, 1024, 64, False),
    ("B", 4, 4, 2048, 2048, 128, True),
    ("C", 32, 8, 1, 4096, 128, False),
    ("D", 12, 12, 128, 128, 64, False),
    ("E", 4, 4, 2048, 2048, 128, False),
    ("M", 12, 12, 128, 128, 32, False),
    *((f"S{n}", 12, 12, n, n, 64, False) for n in (32, 16, 8, 4, 2, 1)),
]
