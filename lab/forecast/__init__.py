"""From traces to models: readers, labels, features, training, reports. Offline; nothing here runs live."""
