"""Does an action bring what it was expected to? The same world with and without this one action."""
