"""What tests of Promptuary and of programs built on it need: real things, small and local."""
