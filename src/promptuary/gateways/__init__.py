"""Chat gateways: Telegram, Discord and Slack. Each platform is an adapter of its own; all else is shared by them."""
