"""Writes the node cases of ONNX's operators LinearAttention and CausalConvWithState (opset 27) beside this file and into module
models. Needs onnx 1.23:

    python3 recurrent/testdata/onnx.py
"""

import base64
import json
import pathlib
import sys

sys.path.pop(0)  # this folder, where onnx is this file

from onnx import helper
from onnx.backend.test.case.node import _NodeTestCases, causal_conv_with_state, linear_attention

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tensors(names, arrays):
    names = [name for name in names if name]  # an input left out has none
    return {n: {"type": str(x.dtype), "shape": x.shape, "data": base64.b64encode(x.tobytes()).decode()} for n, x in zip(names, arrays, strict=True)}


for operator, path in (("LinearAttention", "recurrent/testdata/onnx.json"), ("CausalConvWithState", "models/internal/network/testdata/onnx.json")):
    cases = []
    for case in _NodeTestCases:
        node = case.model.graph.node[0]
        if node.op_type != operator:
            continue
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        attributes = {n: a.decode() if isinstance(a, bytes) else a for n, a in attributes.items()}
        inputs, outputs = case.data_sets[0]
        cases.append({"name": case.name, "attributes": attributes, "inputs": tensors(node.input, inputs), "outputs": tensors(node.output, outputs)})
    (ROOT / path).parent.mkdir(exist_ok=True)
    (ROOT / path).write_text("[" + ",\n".join(json.dumps(case) for case in cases) + "]\n")
    print(path, len(cases))
