"""The one door to the disk, to git and to the network. No other package opens a user's path or starts a program."""
