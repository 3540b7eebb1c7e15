"""PromQL over a source of samples: parsed by promql-parser, evaluated here, all steps of a query at once."""
