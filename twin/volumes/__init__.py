"""PersistentVolumes and their claims: which fit, what binds them, what protects them, what becomes of them."""
