"""The search app: URLs are queued, fetched, cached, indexed and found."""
