"""The pictures of docs/choosing.md."""
