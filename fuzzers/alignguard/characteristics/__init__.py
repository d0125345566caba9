"""What programs that a compiler gets silently wrong have in common: a file a theme, all of it in `table`."""
