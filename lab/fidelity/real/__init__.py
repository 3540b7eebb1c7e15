"""Play scenarios on real control-plane programs; their nodes are kept by `node_keeper`."""
