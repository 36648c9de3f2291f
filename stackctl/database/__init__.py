"""Database servers of either engine: connections to them, and a schema's move from one to the other."""
