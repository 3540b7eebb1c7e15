"""The predecessors' commands, as their guide types them."""
