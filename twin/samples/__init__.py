"""The twin's own Prometheus: samples in memory, scraped at even cluster times, queried by `twin.promql`."""
