"""The main job, told: a real burst meets an empty cluster, a region runs dry, and in the end nothing is left over."""
