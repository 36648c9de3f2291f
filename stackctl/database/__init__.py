"""Database servers of either engine, spoken to by their MySQL protocol."""
