"""Rules between pods: who must be beside whom, who must be apart, and how evenly they lie over nodes and zones."""
