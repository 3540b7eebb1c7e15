"""The Vertical Pod Autoscaler: a recommender, an updater and an admission webhook over
`verticalpodautoscalers`. Each sees the API and its metrics alone; without such an object none of it runs.
"""
