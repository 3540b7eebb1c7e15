"""CustomResourceDefinitions as a store knows them: which kinds they serve, and where objects are kept."""
