"""ValidatingAdmissionPolicies: rules in CEL about what clients write, with parameters, bound to places."""
