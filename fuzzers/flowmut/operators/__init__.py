"""The operators: one declaration each, one file a family, all of them in `table.OPERATORS`."""
