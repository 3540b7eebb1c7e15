"""The smallest model: one tree with one split, written by hand."""

from __future__ import annotations

import json

LOW, HIGH = -4.0, 1.0
"""Log-odds of the two leaves: 0.018 and 0.731."""


PARAMETERS = {
    "binary:logistic": {"reg_loss_param": {"scale_pos_weight": "1"}},
    "reg:quantileerror": {"quantile_loss_param": {"quantile_alpha": "[9E-1]"}},
}


def one_split(
    features: int, column: int, split: float, objective: str = "binary:logistic"
) -> bytes:
    """Return a booster of one tree: below `split` of a column the low leaf, else the high one."""
    tree = {
        "base_weights": [0.0, LOW, HIGH],
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [1, 0, 0],
        "id": 0,
        "left_children": [1, -1, -1],
        "loss_changes": [1.0, 0.0, 0.0],
        "parents": [2147483647, 0, 0],
        "right_children": [2, -1, -1],
        "split_conditions": [split, LOW, HIGH],
        "split_indices": [column, 0, 0],
        "split_type": [0, 0, 0],
        "sum_hessian": [2.0, 1.0, 1.0],
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(features),
            "num_nodes": "3",
            "size_leaf_vector": "1",
        },
    }
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "1"},
        "iteration_indptr": [0, 1],
        "tree_info": [0],
        "trees": [tree],
    }
    shape = {"num_class": "0", "num_feature": str(features), "num_target": "1"}
    base = "5E-1" if objective == "binary:logistic" else "0E0"
    learner = {
        "attributes": {},
        "feature_names": [],
        "feature_types": [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {
            "base_score": base,
            "boost_from_average": "0",
            **shape,
        },
        "objective": {"name": objective, **PARAMETERS[objective]},
    }
    return json.dumps({"learner": learner, "version": [3, 2, 0]}).encode()
