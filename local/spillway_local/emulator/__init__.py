"""AWS on a laptop: moto for the plumbing, and around it what moto has no idea of (launches that take time or fail,
streams that feed functions, a workflow that runs our own handlers), all in virtual time.

moto's private names are touched in `stepfunctions`, `autoscaling`, `instance_types` and `sources`, through `patching`
only, which says so when moto has moved them.
"""
