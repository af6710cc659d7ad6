"""The real scheduler as judge: random clusters and workloads, planned by us and then put before it.

`features.py` says what worlds are made of. A later change that has a feature judged by the planner moves it into
`features.BUILT`, and nothing else: the generator makes its objects already.

`generator.generate` makes a world, `world.RandomWorld` writes it as a dump, plans it and has what was bought come,
`singles.py` makes pairs of one pod and one node for single decisions.
"""
