#!/usr/bin/env python3
"""Checks the second implementation of the numeric contract, in reference/, against the vectors.

usage: check.py [-vectors FOLDER] [SUBJECT...]

Without a subject it checks all files of the folder, by default vectors/. It prints a line for each file. The exit status is 0 if every vector has every bit, and 1 if one has not, if a
function is not implemented, or if a file is not the one that SHA256SUMS names. It needs numpy.
"""

import argparse
import hashlib
import importlib
import json
import pathlib
import sys

import numpy as np

from reference import numbers

CONTRACT = 4
WORDS = {"f64": ">u8", "f32": ">u4", "i32": ">u4", "u64": ">u8", "f16": ">u2", "bf16": ">u2", "f8e4m3": ">u1", "f8e5m2": ">u1", "i8": ">u1", "u8": ">u1", "bool": ">u1"}


def words(t):
    """The bits of the numbers of a tensor."""
    if t["type"] == "i4":
        x = np.array([int(digit, 16) for digit in t["bits"]], np.uint8)
        return (x - (x >= 8) * np.uint8(16)).reshape(t["shape"])
    x = np.frombuffer(bytes.fromhex(t["bits"]), WORDS[t["type"]])
    return x.astype(x.dtype.newbyteorder("=")).reshape(t["shape"])


def argument(x):
    """An argument as Python has it: floats of fewer bits are widened, a single number is a scalar."""
    if not isinstance(x, dict):
        return x
    w = words(x)
    kinds = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i8": np.int8, "i4": np.int8}
    if x["type"] in kinds:
        w = w.view(kinds[x["type"]])
    elif x["type"] in numbers.WIDEN:
        w = numbers.WIDEN[x["type"]](w)
    elif x["type"] == "bool":
        w = w != 0
    return w if x["shape"] else w[()]


def differences(got, want):
    """What is wrong with the results of a vector."""
    for name in sorted(set(got) | set(want)):
        if name not in got or name not in want:
            yield f"{name} is " + ("not wanted" if name in got else "missing")
            continue
        w, g = words(want[name]), np.asarray(got[name])
        if g.dtype in (np.float32, np.float64):
            if g.dtype.itemsize != w.dtype.itemsize:
                yield f"{name} has {g.dtype}, want {want[name]['type']}"
                continue
            g = np.ascontiguousarray(g).view(f"u{g.dtype.itemsize}").reshape(g.shape)
        g = g.astype(np.int64).astype(np.uint64) if g.dtype.kind == "i" else g.astype(np.uint64)
        g, w = g & np.uint64((1 << 8 * w.dtype.itemsize) - 1), w.astype(np.uint64)
        if g.shape != w.shape:
            yield f"{name} has the shape {g.shape}, want {w.shape}"
        elif (g != w).any():
            wrong = np.flatnonzero(g != w)
            i = wrong[0]
            yield f"{name}: {len(wrong)} of {w.size} differ, the first is number {i}: {int(g.flat[i]):x}, want {int(w.flat[i]):x}"


def finds_faults(got, want):
    """Whether another last bit of a result, which must be found, is."""
    for name, t in want.items():
        if t["bits"]:
            other = {**t, "bits": t["bits"][:-1] + f"{int(t['bits'][-1], 16) ^ 1:x}"}
            if len(list(differences(got, {**want, name: other}))) != 1:
                return False
    return True


def check(folder, subject, sums):
    """Checks the file of a subject and returns how many vectors it has and how many have failed."""
    data = (folder / f"{subject}.json").read_bytes()
    if hashlib.sha256(data).hexdigest() != sums[f"{subject}.json"]:
        print(f"{subject}: the file is not the one that SHA256SUMS names")
        return 1, 1
    content = json.loads(data)
    if content["contract"] != CONTRACT:
        print(f"{subject}: the vectors are of contract {content['contract']}, this implements {CONTRACT}")
        return 1, 1
    functions = importlib.import_module(f"reference.{subject}").FUNCTIONS
    failed = 0
    for v in content["vectors"]:
        f = functions.get(v["function"])
        if f is None:
            wrong = [f"{v['function']} is not implemented"]
        else:
            with np.errstate(all="ignore"):
                got = f({name: argument(x) for name, x in v["in"].items()})
            wrong = list(differences(got, v["out"]))
            if not wrong and not finds_faults(got, v["out"]):
                wrong = ["a wrong bit would not be found"]
        for w in wrong:
            print(f"{subject}/{v['name']}: {w}")
        failed += bool(wrong)
    return len(content["vectors"]), failed


def main():
    parser = argparse.ArgumentParser(description="Checks the second implementation of the numeric contract against test vectors.")
    parser.add_argument("-vectors", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "vectors", help="the folder with the files")
    parser.add_argument("subject", nargs="*", help="a file without .json; all by default")
    args = parser.parse_args()
    sums = {name: digest for digest, name in (line.split() for line in (args.vectors / "SHA256SUMS").read_text().splitlines())}
    known = sorted(name.removesuffix(".json") for name in sums)
    for s in args.subject:
        if s not in known:
            parser.error(f"no subject {s!r}; there are {', '.join(known)}")
    all_failed = 0
    for s in args.subject or known:
        count, failed = check(args.vectors, s, sums)
        all_failed += failed
        print(f"{s}: {count - failed} of {count} vectors have every bit")
    return 1 if all_failed else 0


if __name__ == "__main__":
    sys.exit(main())
