"""What every room needs: errors, texts, ids, the clock, values, files that survive a crash, threads of the process."""
