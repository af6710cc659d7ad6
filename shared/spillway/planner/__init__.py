"""The planner: pure functions from what was seen to what to do. No clock, no randomness, no input or output."""

from spillway.planner.make import plan

__all__ = ["plan"]
