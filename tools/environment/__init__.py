"""Makes the virtual environment that ``make`` works in, from the locks."""
