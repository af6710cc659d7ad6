"""Changing the size of Auto Scaling groups, so that a duplicate, a retry or a crash at any line changes nothing twice.

`group` reads one group and writes to it; `raising` carries out scale-out steps; `judging` sees what came of them;
`returning` gives back what did not come; `following` finds where the rest goes next; `ending` ends drained instances.

SetDesiredCapacity has no compare-and-set, so every write to desired happens under the group's lease, right after
a read, and what is about to be written is recorded before it is.
"""
