#!/usr/bin/env python3
"""Prints classes.json: for each model_type that is computed, the defaults of its class of transformers, and which keys of config.json
the code of the class mentions: of its configuration, of its model and of what all models share.

usage: classes.py > classes.json        needs: pip install torch transformers
"""
import dataclasses
import importlib
import json
import re
import transformers as tf
from configs import CLASSES

SHARED = ["is_causal", "rope_parameters", "rope_scaling", "rope_theta"]  # masking_utils.py, modeling_rope_utils.py


def source(name):
    return open(importlib.import_module(name).__file__).read()


def plain(x):  # JSON has no infinity: transformers writes this
    return [plain(y) for y in x] if isinstance(x, (list, tuple)) else {"__float__": "Infinity"} if x == float("inf") else x


classes = {}
for c in CLASSES:
    configuration, model = source(c.__module__), source(c.__module__.replace("configuration_", "modeling_"))
    own = [f for f in dataclasses.fields(c) if f.name not in {f.name for f in dataclasses.fields(tf.PreTrainedConfig)}]
    defaults = {f.name: plain(f.default) for f in own if f.default is not dataclasses.MISSING}
    theta = getattr(c, "default_theta", None)
    reads = set(re.findall(r"config\.(\w+)", model)) | set(re.findall(r'getattr\((?:self\.)?config, "(\w+)"', model))
    reads |= set(re.findall(r'kwargs\.(?:pop|get|setdefault)\("(\w+)"', configuration)) | set(re.findall(r"self\.(\w+)", configuration.split("def __post_init__")[-1]))
    reads &= set(defaults) | set(re.findall(r'"(\w+)"', configuration + model))  # and not methods
    reads |= {k for k in SHARED if k == "is_causal" or "rope_parameters" in defaults}
    classes[c.model_type] = {"defaults": defaults, "theta": theta, "attributes": getattr(c, "attribute_map", {}), "reads": sorted(reads)}
print("{" + ",\n".join(f"{json.dumps(k)}: {json.dumps(x)}" for k, x in classes.items()) + "}")
