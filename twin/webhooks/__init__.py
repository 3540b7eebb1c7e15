"""Admission webhooks: whom a write has to be shown to, what is sent, and what an answer says.

Nothing here waits for an answer but `calling.py`: a write that lacks one ends with `CallsNeeded`, and is tried again
with the answers in its `Hearing`. So a write is one pure function of the store, the request and those answers, which is
what the journal keeps. Source: kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers and the
webhook plugins of the API server (k8s.io/apiserver pkg/admission/plugin/webhook, at 1.36).
"""
