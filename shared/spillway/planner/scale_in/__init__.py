"""Scale in: which nodes go, why, in what order, and where their pods go.

`rules` say of each node whether it may go, `pods` of what runs there whether it lets it; `bounds` are what removals reach
together, `places` where the pods would run, and `shrink` joins them into steps.
"""
