"""PTX as data: modules, entries, typed instructions with the source line of each."""
