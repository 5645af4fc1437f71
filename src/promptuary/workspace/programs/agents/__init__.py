"""What agents and other programs of the person share with this one: token, sockets, settings, transcripts."""
