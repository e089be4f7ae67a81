"""Generated requests to every route of a real server: none may crash or hang."""
