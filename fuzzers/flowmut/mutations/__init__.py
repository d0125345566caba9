"""The mutations: one file a theme, all of them in `table.MUTATIONS`."""
