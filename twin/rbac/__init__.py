"""Role-based access control as Kubernetes evaluates it, over the Roles and bindings of a store.

Source of all rules: kubernetes.io/docs/reference/access-authn-authz/rbac and the RBAC plugin of the API
server (kubernetes/kubernetes plugin/pkg/auth/authorizer/rbac, pkg/registry/rbac, at 1.36).
"""
