"""What runs on a laptop and is never deployed: command line, emulated world, demo."""
