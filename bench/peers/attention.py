#!/usr/bin/env python3
"""The shapes of `go run ./bench` on other libraries: the median time of a call, float32 or bfloat16.

usage: attention.py [THREADS] [--bf16] [--json FILE]      needs: pip install torch onnxruntime onnx openvino
With --json the times are also written for `go run ./bench -peers FILE -json RESULTS`.
PyTorch's scaled_dot_product_attention, ONNX Runtime's and OpenVINO's operators for the same; what is not installed, or
does not run a shape, is left out. Outputs are compared with float64 before they are timed. With --bf16 PyTorch has tensors
of bfloat16 and OpenVINO its precision hint, and the root mean square of the error stands beside each time.
"""
import argparse, json, statistics, sys, time

import numpy as np

from shapes import SHAPES


def pytorch(threads, mode):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)

    def prepare(q, k, v, causal):
        q, k, v = (torch.from_numpy(x).to(getattr(torch, mode)) for x in (q, k, v))
        gqa = q.shape[1] != k.shape[1]

        def call():
            with torch.inference_mode():
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=gqa)

        return call, lambda out: out.float().numpy()

    return f"PyTorch {torch.__version__}", prepare


def onnxruntime(threads, mode):
    import onnx, onnxruntime as ort
    from onnx import TensorProto, helper

    if mode != "float32":
        raise ImportError("ONNX Runtime: its operator has no bfloat16 on CPUs")

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1

    def prepare(q, k, v, causal):
        value = lambda name, x: helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape)
        node = helper.make_node("Attention", ["q", "k", "v"], ["out"], is_causal=int(causal))
        graph = helper.make_graph([node], "attention", [value("q", q), value("k", k), value("v", v)], [value("out", q)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()  # no copies
        for name, x in ("q", q), ("k", k), ("v", v):
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(x))
        out = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(q))
        binding.bind_ortvalue_output("out", out)
        return lambda: session.run_with_iobinding(binding), lambda _: out.numpy()

    return f"ONNX Runtime {ort.__version__}", prepare


def openvino(threads, mode):
    import openvino as ov
    from openvino import opset13 as ops

    core = ov.Core()
    config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    if mode != "default":  # which takes bfloat16 where the CPU has it
        config["INFERENCE_PRECISION_HINT"] = {"float32": "f32", "bfloat16": "bf16"}[mode]

    def prepare(q, k, v, causal):
        parameters = [ops.parameter(x.shape, np.float32) for x in (q, k, v)]
        if q.shape[1] != k.shape[1]:
            raise ValueError("its operator has no grouped heads")
        node = ops.scaled_dot_product_attention(*parameters, causal=causal)
        request = core.compile_model(ov.Model([node], parameters), "CPU", config).create_infer_request()
        for i, x in enumerate((q, k, v)):
            request.set_input_tensor(i, ov.Tensor(x, shared_memory=True))
        return request.infer, lambda _: request.get_output_tensor(0).data

    return f"OpenVINO {ov.__version__.split('-')[0]}", prepare


def exact(q, k, v, causal):
    """The first head in float64."""
    s = q[0, 0].astype(np.float64) @ k[0, 0].T / np.sqrt(q.shape[3])
    if causal:
        s[np.triu_indices(*s.shape[:1], 1)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v[0, 0]


def microseconds(call):
    """The median of calls that take half a second together, after a tenth to warm up."""
    for limit in 0.1, 0.5:
        times = []
        start = time.perf_counter()
        while time.perf_counter() - start < limit:
            before = time.perf_counter()
            call()
            times.append(time.perf_counter() - before)
    return 1e6 * statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("threads", nargs="?", type=int, default=1)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    threads, libraries, peers = args.threads, [], []
    for library in pytorch, onnxruntime, openvino:
        try:
            libraries.append(library(threads, "bfloat16" if args.bf16 else "float32"))
        except ImportError as e:
            print(f"left out: {e}", file=sys.stderr)
    print(f"microseconds, {threads} threads\n\n| shape | {' | '.join(name for name, _ in libraries)} |\n|---|{'---|' * len(libraries)}")
    rng = np.random.default_rng(1)
    for name, heads, kv_heads, lq, lk, d, causal in SHAPES:
        q = rng.standard_normal((1, heads, lq, d), np.float32)
        k, v = (rng.standard_normal((1, kv_heads, lk, d), np.float32) for _ in "kv")
        row = []
        for library, prepare in libraries:
            try:
                call, result = prepare(q, k, v, causal)
                error = result(call())[0, 0] - exact(q, k, v, causal)
                worst, rms = np.abs(error).max(), np.sqrt((error**2).mean())
                if worst < (0.1 if args.bf16 else 1e-4):
                    time_of_call = microseconds(call)
                    row.append(f"{time_of_call:.1f} ({rms:.1e})" if args.bf16 else f"{time_of_call:.1f}")
                    peers.append({"program": library, "shape": name, "threads": threads, "ns": 1e3 * time_of_call})
                else:
                    row.append(f"wrong by {worst:.1e}")
            except Exception as e:
                print(f"{name}, {library}: {e}", file=sys.stderr)
                row.append("–")
        print(f"| {name} | {' | '.join(row)} |", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(peers, f, indent=1)


if __name__ == "__main__":
    main()
