"""From a new process to a function's handler being ready to take an event, with and without bytecode.

Measured are the interpreter's start, the import of the handler and of what it needs for its first call (for functions
that talk to the cluster the Kubernetes client, for those that talk to AWS the clients of the services they use):
the part of a cold start that is ours. The network's part is not in it.
"""



RUNS = 5
CLUSTER_FUNCTIONS = {"snapshot_cluster", "verify_nodes", "drain", "remove_node"}
