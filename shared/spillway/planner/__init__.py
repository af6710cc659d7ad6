"""From what is to what should be: pure functions of snapshots, memory and policy."""
