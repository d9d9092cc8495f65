"""`updraft migrate SRC --verify CMD`: the original on the CPU, the migrated project on the virtual NPU, and what both print."""
