"""PersistentVolumes that are free, of which each pod takes its own: dealt where its node can reach them."""
