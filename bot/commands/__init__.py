"""What people tell the bot in comments: the grammar, who may, doing it, and the reply."""
