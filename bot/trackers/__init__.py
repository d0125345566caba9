"""Where issues live: one protocol; GitHub, Gitee-style hosts and a local folder behind it."""
