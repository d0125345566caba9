"""What can be known of a program without running it: shapes, dtypes, views, and who made what."""
