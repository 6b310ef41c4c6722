#!/usr/bin/env python3
"""attn beside PyTorch, ONNX Runtime and OpenVINO on this machine: installs them, times all in turn, prints a table.

usage: run.py [flags]      `.ci/step peers flags`; needs Python with venv, pip, and Go
The first table has float32. The second has attn, and each library as it comes and in its other modes, with the root
mean square of the error against float64. Each program and mode runs in a process of its own. Shape by shape they are
timed one after the other, several rounds of that, and the best round of each counts. A program that cannot be installed
or does not run is reported as NOT RUN.
"""
import argparse, json, os, pathlib, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = {"pytorch": ["numpy", "torch"], "onnxruntime": ["numpy", "onnx", "onnxruntime"], "openvino": ["numpy", "openvino"]}
MODES = {"attn": ["float32", "bfloat16", "int8"], "pytorch": ["float32", "bfloat16"], "onnxruntime": ["float32"], "openvino": ["float32", "default", "bfloat16"]}
PATIENCE = 120  # seconds for an answer
INSTALLING = 180  # seconds for all libraries
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def requirements():
    """The lines of requirements.txt: options of pip, and the pinned packages by name, a line for each system."""
    lines = [l.strip() for l in open(HERE / "requirements.txt") if l.strip() and not l.startswith("#")]
    options, pinned = [word for l in lines if l.startswith("-") for word in l.split()], {}
    for l in lines:
        pinned.setdefault(l.split("==")[0], []).append(l)
    return options, pinned


def install(venv, libraries):
    """Installs libraries into the virtual environment. Returns its Python, the libraries that it has, and why not others."""
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    options, pinned = requirements()
    found, missing, start = [], {}, time.monotonic()
    for library in libraries:
        packages = [line for p in LIBRARIES[library] for line in pinned[p]]
        if subprocess.run([python, "-c", "import " + ", ".join(LIBRARIES[library])], stderr=subprocess.DEVNULL).returncode == 0:
            print(f"{library} is there", file=sys.stderr)
            found.append(library)
        elif why := pip(python, [*options, *packages], start + INSTALLING, f"installing {library}"):
            index = [line.replace("+cpu", "") for line in packages]  # where PyTorch's own index is out of reach
            if index == packages or pip(python, index, start + INSTALLING, f"installing {library} from the other index"):
                missing[library] = why
            else:
                found.append(library)
        else:
            found.append(library)
    return python, found, missing


def pip(python, arguments, deadline, what):
    """Runs pip install until a time, and says what it does. Returns why it failed, or None."""
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--only-binary", ":all:", *arguments]
    with tempfile.TemporaryFile("w+") as said:
        p, begun = subprocess.Popen(command, stdout=said, stderr=said), time.monotonic()
        while p.poll() is None and time.monotonic() < deadline:
            if sys.stderr.isatty():
                print(f"\r{what}: {time.monotonic() - begun:.0f} s", end="", file=sys.stderr, flush=True)
            try:
                p.wait(1)
            except subprocess.TimeoutExpired:
                pass
        print(f"\r{what}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
        if p.poll() is None:
            p.kill()
            p.wait()
            return f"pip was ended {INSTALLING} s after the first library"
        said.seek(0)
        lines = [l.strip() for l in said if l.strip()] or [""]
    if p.returncode == 0:
        return None
    return "pip failed: " + ([l for l in lines if l.startswith("ERROR")] or lines)[-1][:200]


class Worker:
    """A process that times shapes, see worker.py."""

    def __init__(self, mode, *command):
        self.mode = mode
        quiet = os.environ | {"CI": "true"}  # OpenVINO then sends no telemetry
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE, env=quiet)
        self.name = self.answer().get("name")

    def answer(self):
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        return json.loads(line) if line else {"error": f"the process has ended, or was ended after {PATIENCE} s"}

    def time(self, shape, seconds):
        try:
            self.process.stdin.write(json.dumps({"shape": shape, "seconds": seconds}) + "\n")
            self.process.stdin.flush()
        except OSError as e:
            return {"error": str(e)}
        return self.answer()

    def close(self):
        self.process.kill()
        self.process.communicate()


def measure(workers, shape, rounds, seconds):
    """The best times of the workers in nanoseconds, None for one that does not run the shape, and their errors."""
    best, errors = [None] * len(workers), [None] * len(workers)
    for r in range(rounds):
        for i, w in enumerate(workers):
            if r > 0 and best[i] is None:
                continue
            answer = w.time(shape, seconds)
            if "ns" not in answer:
                print(f"NOT RUN: {shape['name']} by {w.name}: {answer['error']}", file=sys.stderr)
                best[i] = None
            else:
                best[i], errors[i] = min(answer["ns"], best[i] or answer["ns"]), answer["rms"]
    return best, errors


def shapes(names):
    sys.path.insert(0, str(HERE))
    from shapes import SHAPES

    fields = "name", "heads", "kv_heads", "lq", "lk", "d", "causal"
    return [dict(zip(fields, s)) for s in SHAPES if names is None or s[0] in names]


def duration(ns):
    for unit, size in ("s", 1e9), ("ms", 1e6), ("µs", 1e3):
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns"


def markdown(threads, names, rows):
    """A table with the times of attn, and of the others with their multiples of them, a row for each shape."""
    lines = [f"Best times on {threads} thread{'s' * (threads > 1)}, and their multiples of those of {names[0]}.", "",
             f"| shape | attn | {' | '.join(names[1:])} |", f"|---|{'---|' * len(names)}"]
    for shape, best in rows:
        cells = [duration(best[0])] + [f"{duration(ns)} · {ns / best[0]:.2f}×" if ns else "–" for ns in best[1:]]
        lines.append(f"| {shape} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def errors(threads, workers, rows):
    """A table with the times and errors of attn and of the others in all modes."""
    lines = [f"Best times on {threads} thread{'s' * (threads > 1)}, and the root mean square of the error against float64.", "",
             f"| shape | {' | '.join(f'{w.name} {w.mode}' for w in workers)} |", f"|---|{'---|' * len(workers)}"]
    for shape, best, rms in rows:
        lines.append(f"| {shape} | {' | '.join(f'{duration(ns)} · {e:.1e}' if ns else '–' for ns, e in zip(best, rms))} |")
    return "\n".join(lines) + "\n"


def flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(n) for n in text.split(",")]
    names = lambda text: text.split(",")
    p.add_argument("--venv", type=pathlib.Path, default=CACHE / "attn" / "peers", help="folder of the virtual environment (%(default)s)")
    p.add_argument("--libraries", type=names, default=list(LIBRARIES), help=f"some of {','.join(LIBRARIES)}")
    modes = ["float32", "default", "bfloat16", "int8"]
    p.add_argument("--modes", type=names, default=modes, help=f"some of {','.join(modes)}; float32 is always one")
    p.add_argument("--shapes", type=names, help="letters of shapes, such as A,S1 (all)")
    p.add_argument("--threads", type=numbers, default=[1, 2], help="numbers of threads (1,2)")
    p.add_argument("--rounds", type=int, default=5, help="how often each program times a shape (%(default)s)")
    p.add_argument("--seconds", type=float, default=0.2, help="how long it does so each time (%(default)s)")
    p.add_argument("--json", type=pathlib.Path, help="write the times to a file, which `go run ./bench -peers` reads")
    p.add_argument("--markdown", type=pathlib.Path, help="write the tables to a file")
    args = p.parse_args()
    if unknown := set(args.libraries) - set(LIBRARIES):
        p.error(f"unknown libraries: {', '.join(unknown)}")
    if unknown := set(args.modes) - set(modes):
        p.error(f"unknown modes: {', '.join(unknown)}")
    args.modes = [m for m in modes if m in args.modes or m == "float32"]
    if min(args.threads) < 1 or args.rounds < 1:
        p.error("--threads and --rounds: want at least 1")
    args.shapes = shapes(args.shapes)
    if not args.shapes:
        p.error("--shapes: none of them is known")
    return args


def main():
    args = flags()
    python, found, missing = install(args.venv, args.libraries)
    attn = args.venv / ("attn.exe" if os.name == "nt" else "attn")
    subprocess.run(["go", "build", "-o", attn, "./attn"], cwd=HERE, check=True)
    peers, tables = [], []
    for threads in args.threads:
        workers = []
        for library in ["attn", *found]:
            for mode in args.modes:
                if mode not in MODES[library]:
                    continue
                command = [attn] if library == "attn" else [python, HERE / "worker.py", library]
                w = Worker(mode, *command, mode, str(threads))
                if w.name:
                    workers.append(w)
                else:
                    missing[f"{library} {mode}"] = "it does not start"
                if not workers:  # the first one is attn in float32, which the others are compared with
                    sys.exit("attn float32 does not start")
        floats = [i for i, w in enumerate(workers) if w.mode == "float32"]
        rows = []
        for shape in args.shapes:
            print(f"{shape['name']}, {threads} threads", file=sys.stderr)
            best, rms = measure(workers, shape, args.rounds, args.seconds)
            if best[0] is None:
                sys.exit("attn does not run")
            rows.append((shape["name"], best, rms))
            peers += [{"program": workers[i].name, "shape": shape["name"], "threads": threads, "ns": best[i], "attn_ns": best[0], "ratio": best[i] / best[0]}
                      for i in floats[1:] if best[i]]
        tables.append(markdown(threads, [workers[i].name for i in floats], [(name, [best[i] for i in floats]) for name, best, _ in rows]))
        if len(workers) > len(floats):
            tables.append(errors(threads, workers, rows))
        for w in workers:
            w.close()
    print("\n" + "\n".join(tables))
    if args.markdown:
        args.markdown.write_text("\n".join(tables), encoding="utf-8")
    if args.json:
        args.json.write_text(json.dumps(peers, indent=1) + "\n")
    for library, why in missing.items():
        print(f"NOT RUN: {library}: {why}", file=sys.stderr)
    sys.exit(1 if missing else 0)


main()
