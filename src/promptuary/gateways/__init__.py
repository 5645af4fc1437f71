"""Chat gateways: Telegram, Discord and Slack. Each platform has its own adapter; they share everything else."""
