#!/usr/bin/env python3
"""Times Tally's bench_reductions, PyTorch and NumPy (on the CPU) on the same cases, one after another in the same call, and
prints a Markdown table of the ratios, their geometric mean and the slowest. --help lists the options."""
import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time


def parse_case(line):
    shape, dims, dtype, op, *words = line.split()
    case = {"line": line, "op": op, "dtype": dtype, "shape": tuple(int(n) for n in shape.split("x")),
            "dims": None if dims == "all" else tuple(int(d) for d in dims.split(",")),
            "backward": "backward" in words, "offset": 0}
    for word in words:
        if word.startswith("offset="):
            case["offset"] = int(word[7:])
    case["count"] = math.prod(case["shape"])
    return case


class Tally:
    """bench_reductions, asked for one case at a time."""

    def __init__(self, options):
        command = [options.bench, "--device", options.device, "--grid", "-", "--budget", str(options.budget)]
        if options.threads:
            command += ["--threads", str(options.threads)]
        if options.no_ceiling:
            command.append("--no-ceiling")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, case):
        self.process.stdin.write(case["line"] + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("bench_reductions has ended")
        return json.loads(answer)


def sample(batch, calls, budget):
    """Seconds of a call over batches, at least five: the median and the least."""
    samples, start = [], time.perf_counter()
    while len(samples) < 5 or (time.perf_counter() - start < budget and len(samples) < 1000):
        begin = time.perf_counter()
        batch()
        samples.append((time.perf_counter() - begin) / calls)
    return {"us": statistics.median(samples) * 1e6, "best_us": min(samples) * 1e6}


def repeat(call, budget):
    call()
    begin = time.perf_counter()
    call()
    calls = int(min(max(budget / 50 / max(time.perf_counter() - begin, 1e-7), 1), 100000))
    return sample(lambda: [call() for _ in range(calls)], calls, budget)


class Torch:
    def __init__(self, options):
        import torch
        self.torch, self.device, self.budget = torch, options.device, options.budget
        if options.threads:
            torch.set_num_threads(options.threads)
        torch.backends.cuda.matmul.allow_tf32 = False
        self.numbers = {}

    def version(self):
        return "PyTorch " + self.torch.__version__

    def work(self, case):
        """The op on a tensor; None where PyTorch has none for these dims."""
        torch, dims, op = self.torch, case["dims"], case["op"]
        dim = dims[0] if dims and len(dims) == 1 else None
        several = dims is not None and len(dims) > 1
        reduce_all = dims is None
        over = {"dim": dims} if dims else {}
        table = {
            "sum": lambda x: torch.sum(x, **over),
            "mean": lambda x: torch.mean(x, **over),
            "amax": lambda x: torch.amax(x, **over),
            "amin": lambda x: torch.amin(x, **over),
            "norm": lambda x: torch.linalg.vector_norm(x, 2, **over),
            "var": lambda x: torch.var(x, dim=dims, correction=0),
            "std": lambda x: torch.std(x, dim=dims, correction=0),
            "var_mean": lambda x: torch.var_mean(x, dim=dims, correction=0),
            "logsumexp": lambda x: torch.logsumexp(x, dims if dims else tuple(range(x.dim()))),
            "prod": (lambda x: torch.prod(x)) if reduce_all else (lambda x: torch.prod(x, dim)),
            "any": (lambda x: torch.any(x)) if reduce_all else (lambda x: torch.any(x, dims)),
            "all": (lambda x: torch.all(x)) if reduce_all else (lambda x: torch.all(x, dims)),
            "max": lambda x: torch.max(x),
            "max_idx": lambda x: torch.max(x.reshape(-1) if reduce_all else x, dim or 0)[0],
            "argmax": lambda x: torch.argmax(x, dim),
            "cumsum": lambda x: torch.cumsum(x, dim or 0),
            "softmax": lambda x: torch.softmax(x, dim),
            "log_softmax": lambda x: torch.log_softmax(x, dim),
            "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
        }
        def clip(x):
            parameters = []
            for row in x.unbind(0):
                parameters.append(row.detach())
                parameters[-1].grad = row
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)

        table["clip"] = clip
        # What the peers of the program are compared with.
        table["cub_sum"] = table["naive_sum"] = table["block_sum"] = table["sum"]
        table["cub_max"], table["cub_argmax"], table["cub_squares"] = table["amax"], table["argmax"], table["norm"]
        if several and op in ("prod", "max_idx", "argmax"):
            return None
        return table.get(op)

    def inputs(self, case):
        """As in bench_reductions: on the device, inputs that together exceed the L2 cache."""
        torch = self.torch
        dtype = getattr(torch, case["dtype"])
        count = 1
        if self.device == "cuda" and not case["backward"]:
            count = min(256, (256 << 20) // max(case["count"] * dtype.itemsize, 1) + 1)
        step = (case["count"] + case["offset"] + 255) // 256 * 256
        total, key = step * count + case["offset"], dtype
        if key not in self.numbers or self.numbers[key].numel() < total:
            self.numbers.pop(key, None)
            self.numbers[key] = torch.randn(total, device=self.device, dtype=dtype)
        numbers = self.numbers[key]
        return [numbers[i * step + case["offset"]:][:case["count"]].view(case["shape"]) for i in range(count)]

    def measure(self, case):
        torch, work = self.torch, self.work(case)
        if work is None:
            return None
        inputs = self.inputs(case)
        wait = torch.cuda.synchronize if self.device == "cuda" else (lambda: None)
        if case["backward"]:
            x = inputs[0].detach().clone().requires_grad_()
            cotangent = torch.ones_like(work(x))

            def call():
                work(x).backward(cotangent)
                x.grad = None
        else:
            def call():
                work(inputs[0])
        if self.device == "cpu":
            return repeat(call, self.budget)
        call(), wait()
        begin = time.perf_counter()
        call(), wait()
        once = time.perf_counter() - begin
        if case["backward"]:
            calls = int(min(max(self.budget / 50 / once, 1), 100000))
            return sample(lambda: ([call() for _ in range(calls)], wait()), calls, self.budget)
        calls = int(min(max(self.budget / 20 / once, 4), 1000))
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            for i in range(calls):
                work(inputs[i % len(inputs)])
        graph.replay(), wait()
        return sample(lambda: (graph.replay(), wait()), calls, self.budget)


class Numpy:
    def __init__(self, options):
        import numpy
        self.numpy, self.budget = numpy, options.budget
        self.numbers = {}

    def version(self):
        return "NumPy " + self.numpy.__version__

    def measure(self, case):
        np, axis = self.numpy, case["dims"]
        if case["backward"] or case["dtype"] not in ("float32", "float64"):
            return None
        one = axis[0] if axis and len(axis) == 1 else None
        several = axis is not None and len(axis) > 1
        table = {
            "sum": lambda x: np.sum(x, axis=axis), "mean": lambda x: np.mean(x, axis=axis),
            "amax": lambda x: np.max(x, axis=axis), "amin": lambda x: np.min(x, axis=axis),
            "prod": lambda x: np.prod(x, axis=axis), "var": lambda x: np.var(x, axis=axis),
            "std": lambda x: np.std(x, axis=axis), "any": lambda x: np.any(x, axis=axis),
            "all": lambda x: np.all(x, axis=axis), "cumsum": lambda x: np.cumsum(x, axis=one),
        }
        if not several:
            table["argmax"] = table["max_idx"] = lambda x: np.argmax(x, axis=one)
            table["norm"] = lambda x: np.linalg.norm(x.reshape(-1) if axis is None else x, axis=one)
        if case["op"] not in table:
            return None
        total = case["count"] + case["offset"]
        if self.numbers.get("key") != (case["dtype"], total):
            self.numbers = {"key": (case["dtype"], total),
                            "x": np.random.default_rng(1).standard_normal(total, dtype=case["dtype"])}
        x = self.numbers["x"][case["offset"]:].reshape(case["shape"])
        return repeat(lambda: table[case["op"]](x), self.budget)


def shown(microseconds):
    if microseconds is None:
        return ""
    return f"{microseconds:.3g}" if microseconds < 1000 else f"{microseconds:.0f}"


def machine(options):
    if options.device == "cuda":
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        try:
            return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]
        except (OSError, subprocess.CalledProcessError):
            return "a CUDA device"
    with open("/proc/cpuinfo") as info:
        name = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return f"{name}, {options.threads or os.cpu_count()} threads"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bench", required=True, help="the program bench_reductions")
    arguments.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    arguments.add_argument("--grid", action="append", default=[], help="a file of cases; may be given again")
    arguments.add_argument("--random", type=int, default=0, help="so many random cases of the program")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--threads", type=int, default=0, help="of the CPU, for all")
    arguments.add_argument("--budget", type=float, default=0.1, help="seconds a measurement")
    arguments.add_argument("--rounds", type=int, default=1, help="interleaved; the medians count")
    arguments.add_argument("--best", action="store_true",
                           help="the least times instead of the medians, for a machine that others use too")
    arguments.add_argument("--no-ceiling", action="store_true")
    arguments.add_argument("--match", default="", help="only cases whose line contains this")
    arguments.add_argument("--markdown", help="write the table here too")
    arguments.add_argument("--json", help="write every measurement here, a line each")
    options = arguments.parse_args()

    lines = []
    for grid in options.grid:
        lines += subprocess.run([options.bench, "--list", "--grid", grid], capture_output=True, text=True,
                                check=True).stdout.splitlines()
    if options.random:
        lines += subprocess.run([options.bench, "--list", "--device", options.device, "--random", str(options.random),
                                 "--seed", str(options.seed)], capture_output=True, text=True,
                                check=True).stdout.splitlines()
    cases = [parse_case(line) for line in lines if options.match in line]

    tally = Tally(options)
    peers = []
    for peer in [Torch] + ([Numpy] if options.device == "cpu" else []):
        try:
            peers.append(peer(options))
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
    log = open(options.json, "w") if options.json else None

    which, middle = ("best_us", min) if options.best else ("us", statistics.median)
    rows = []
    for case in cases:
        ours, theirs, last = [], [[] for _ in peers], {}
        for _ in range(options.rounds):
            last = tally.measure(case)
            if which in last:
                ours.append(last[which])
            for seen, peer in zip(theirs, peers):
                try:
                    answer = peer.measure(case)
                except Exception as error:  # one case of one library: the others go on
                    answer = None
                    print(f"{type(peer).__name__} on {case['line']}: {error}", file=sys.stderr)
                if answer is not None:
                    seen.append(answer[which])
        row = {"case": case["line"], "us": middle(ours) if ours else None, "share": last.get("share"),
               "error": last.get("error"),
               "peers": [middle(seen) if seen else None for seen in theirs]}
        rows.append(row)
        print(row["case"], shown(row["us"]), [shown(one) for one in row["peers"]], row["error"] or "", file=sys.stderr,
              flush=True)
        if log:
            log.write(json.dumps({**row, "libraries": [type(peer).__name__ for peer in peers]}) + "\n")
            log.flush()

    out = [f"{machine(options)}; {', '.join(peer.version() for peer in peers)}; {datetime.date.today()}. "
           f"Microseconds a call ({'best' if options.best else 'median'}); a ratio is the other's time by ours.", ""]
    head = ["case", "Tally", "of the ceiling"]
    for peer in peers:
        head += [type(peer).__name__.replace("Torch", "PyTorch").replace("Numpy", "NumPy"), "ratio"]
    out += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ratios = [[] for _ in peers]
    for row in rows:
        cells = [row["case"], row["error"] or shown(row["us"]), f"{row['share']:.0%}" if row["share"] else ""]
        is_peer = row["case"].split()[3] in ("naive_sum", "block_sum") or row["case"].split()[3].startswith("cub_")
        for list_of, theirs in zip(ratios, row["peers"]):
            ratio = theirs / row["us"] if theirs and row["us"] else None
            if ratio and not is_peer:
                list_of.append((ratio, row["case"]))
            cells += [shown(theirs), f"{ratio:.2f}" if ratio else ""]
        out.append("| " + " | ".join(cells) + " |")
    out.append("")
    for peer, list_of in zip(peers, ratios):
        if list_of:
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in list_of))
            slowest = min(list_of)
            below = sum(ratio < 1 for ratio, _ in list_of)
            out.append(f"{peer.version()}: geometric mean of {len(list_of)} ratios {mean:.2f}; {below} below 1; the slowest "
                       f"{slowest[0]:.2f} ({slowest[1]})")
            out.append("")
    print("\n".join(out))
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write("\n".join(out))


if __name__ == "__main__":
    main()
