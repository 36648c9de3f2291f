"""The web front: pages for people and a JSON API."""
