"""Faults of streams and memory: what src/observe/sanitizer found, as sentences (docs/use/sanitizer.md)."""
