"""Storage, the heart: alignment, ownership, planning, reading back. Pure arithmetic over frozen values."""
