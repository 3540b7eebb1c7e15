"""What a CustomResourceDefinition describes: schemas, versions, paths, formats. Nothing here knows a store."""
