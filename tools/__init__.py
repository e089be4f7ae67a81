"""What makes this project's own development environment; not part of the package."""
