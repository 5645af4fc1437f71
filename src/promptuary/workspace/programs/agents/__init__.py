"""What this program shares with agents and other programs of the person: token, sockets, settings, transcripts."""
