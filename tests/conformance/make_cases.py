#!/usr/bin/env python3
"""Writes cases.jsonl, the cases that the tests run: values and gradients found by PyTorch in float64 on the CPU.

    python3 make_cases.py > cases.jsonl
"""
import json
import math

import torch
import torch.nn.functional as F

torch.manual_seed(20240229)
INF, NAN = math.inf, math.nan


def number(x):
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"
    return x


def tensor(t):
    t = t.detach()
    return {"shape": list(t.shape), "dtype": str(t.dtype)[6:], "data": [number(v) for v in t.reshape(-1).tolist()]}


def argument(x, inputs):
    if isinstance(x, torch.Tensor):
        inputs.append(x)
        return {"tensor": len(inputs) - 1}
    if isinstance(x, torch.dtype):
        return {"dtype": str(x)[6:]}
    if isinstance(x, (list, tuple)):
        return [argument(one, inputs) for one in x]
    return number(x)


def short(t):
    """Cut to 1/64: few digits in the file."""
    return (t * 64).ceil() / 64


counts = {}


def case(op, f, first, *args, error=None, **kwargs):
    inputs = []
    counts[op] = counts.get(op, 0) + 1
    record = {"id": f"{op}/{counts[op]}", "op": op, "first": argument(first, inputs)}
    record["args"] = [argument(one, inputs) for one in args]
    record["kwargs"] = {name: argument(one, inputs) for name, one in kwargs.items()}
    record["inputs"] = [tensor(one) for one in inputs]
    if error:
        record["error"] = error
        try:
            f(first, *args, **kwargs)
        except Exception:
            return print(json.dumps(record, separators=(",", ":")))
        raise SystemExit(f"{record['id']} is no error")
    outputs = f(first, *args, **kwargs)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    record["outputs"] = [tensor(one) for one in outputs]
    leaves = [(i, one) for i, one in enumerate(inputs) if one.requires_grad]
    differentiable = [one for one in outputs if one.requires_grad]
    if differentiable:
        cotangents = [short(torch.randn_like(one)) for one in differentiable]
        grads = torch.autograd.grad(differentiable, [one for _, one in leaves], cotangents, allow_unused=True)
        record["cotangents"] = [tensor(one) for one in cotangents]
        record["grads"] = {str(i): tensor(g) for (i, _), g in zip(leaves, grads) if g is not None}
    print(json.dumps(record, separators=(",", ":")))


def x(*shape, low=-3.0, high=3.0):
    return short(torch.rand(shape, dtype=torch.float64) * (high - low) + low).requires_grad_()


def given(*values):
    return torch.tensor(values, dtype=torch.float64).requires_grad_()


def whole(*shape):
    return torch.randint(-9, 9, shape)


# Elementwise.
for name in "abs ceil cos erf exp expm1 floor neg reciprocal round sigmoid sin square tanh trunc".split():
    case(name, getattr(torch, name), x(2, 3))
for name in "log log1p rsqrt sqrt".split():
    case(name, getattr(torch, name), x(2, 3, low=0.1))
for name in "relu silu".split():
    case(name, getattr(F, name), x(2, 3))
for name in "isnan isinf isfinite logical_not".split():
    case(name, getattr(torch, name), given(0, 1, NAN, INF, -INF))
case("relu", F.relu, given(0, -0.0, NAN, INF, -INF))
case("abs", torch.abs, given(0, -0.0, NAN, -INF))
case("neg", torch.neg, torch.tensor([True]), error="RuntimeError")
case("gelu", F.gelu, x(4), approximate="none")
case("gelu", F.gelu, x(4), approximate="tanh")
case("softplus", F.softplus, x(5), beta=3, threshold=0.2)
case("clamp", torch.clamp, x(5), -1.0, 1.0)
case("clamp", torch.clamp, x(5), min=0.0)
for name in "add sub mul div".split():
    f = getattr(torch, name)
    case(name, f, x(2, 3), x(3))
    case(name, f, x(2, 1), 2.5)
case("add", torch.add, x(3), x(2, 1), alpha=-1.5)
case("sub", torch.sub, x(3), x(3), alpha=2)
case("div_floor_rounding", lambda a, b: torch.div(a, b, rounding_mode="floor"), x(4), x(4, low=0.5))
case("div", torch.div, x(4), x(4, low=0.5), rounding_mode="trunc")
case("pow", torch.pow, x(4, low=0.1), x(4))
case("pow", torch.pow, x(4), 3)
case("pow", torch.pow, given(0, 0, 0, -2), given(0, 2, 1, 3))
for name in "maximum minimum".split():
    case(name, getattr(torch, name), x(2, 3), x(3))
    case(name, getattr(torch, name), given(1, NAN, 2, -INF), given(1, 0, NAN, INF))
for name in "eq ne lt le gt ge".split():
    case(name, getattr(torch, name), torch.tensor([1, 2, 3]), torch.tensor([3, 2, 1]))
case("where", lambda a, mask, b: torch.where(mask, a, b), x(2, 2), torch.tensor([True, False]), x(2, 1))
case("masked_fill", torch.masked_fill, x(2, 2), torch.tensor([True, False]), 7)
case("masked_fill", torch.masked_fill, x(2, 2), torch.tensor([[True], [False]]), torch.tensor(2.0, dtype=torch.float64))

# Views, joins, positions, products.
case("reshape", torch.reshape, x(2, 6), [3, -1])
case("reshape", torch.reshape, x(2, 6), [5, -1], error="RuntimeError")
case("flatten", torch.flatten, x(2, 3, 2), 1)
case("permute", torch.permute, x(2, 3, 1), [2, 0, -2])
case("transpose", torch.transpose, x(2, 3), -1, 0)
case("t", torch.t, x(2, 3))
case("unsqueeze", torch.unsqueeze, x(2, 3), -1)
case("squeeze", torch.squeeze, x(1, 3, 1))
case("squeeze", torch.squeeze, x(1, 3, 1), 0)
case("expand", lambda a, size: a.expand(size), x(3, 1), [2, -1, 4])
case("narrow", torch.narrow, x(4, 3), 0, 1, 2)
case("narrow", torch.narrow, x(4, 3), 0, 3, 2, error="RuntimeError")
case("select", torch.select, x(4, 3), 1, -1)
case("diagonal", torch.diagonal, x(3, 4), 1)
case("split", torch.split, x(5, 2), 2)
case("split", torch.split, x(5, 2), [1, 4])
case("chunk", torch.chunk, x(5, 2), 2)
case("cat", torch.cat, [x(2, 2), x(1, 2)], dim=-2)
case("cat", torch.cat, [x(2, 2), x(1, 3)], error="RuntimeError")
case("stack", torch.stack, [x(2), x(2)], 1)
case("gather", torch.gather, x(3, 2), 0, torch.tensor([[0, 2], [0, 0]]))
case("gather", torch.gather, x(3, 2), 0, torch.tensor([[3, 0]]), error="RuntimeError")
case("index_select", torch.index_select, x(3, 2), 1, torch.tensor([1, 1, 0]))
case("matmul", torch.matmul, x(2, 2, 3), x(3, 2))
case("mm", torch.mm, x(2, 3), x(3, 2))
case("mv", torch.mv, x(2, 3), x(3))
case("bmm", torch.bmm, x(2, 2, 3), x(2, 3, 1))
case("linear", F.linear, x(2, 3), x(4, 3), x(4))
case("dot", torch.dot, x(3), x(3))
case("dot", torch.dot, x(3), x(2), error="RuntimeError")

# Reductions.
cube = (2, 3, 4)
for name in "sum mean nansum nanmean amax amin".split():
    f = getattr(torch, name)
    case(name, f, x(*cube), dim=[0, -1], keepdim=True)
    case(name, f, given(-2, -2, 3, 3, 0), dim=0)
for name in "sum mean nansum nanmean".split():
    case(name, getattr(torch, name), given(1, NAN, 3), dim=0)
for name in "sum mean nansum".split():
    case(name, getattr(torch, name), x(2, 3))
case("sum", torch.sum, torch.tensor([True, True, False]))
case("sum", torch.sum, whole(3, 2), dim=0, dtype=torch.float64)
case("mean", torch.mean, whole(3, 2), error="RuntimeError")
case("prod", torch.prod, x(3, 4), 1)
case("prod", torch.prod, given(2, 0, 3))
case("prod", torch.prod, given(0, 5, 0))
case("prod", torch.prod, whole(2, 3), 0, True, dtype=torch.int64)
case("max", torch.max, x(3, 4), 1)
case("min", torch.min, x(3, 4), 0, True)
case("max_all", torch.max, given(1, 3, 3))
case("min_all", torch.min, whole(5))
case("aminmax", torch.aminmax, x(3, 4), dim=0, keepdim=True)
case("amax", torch.amax, torch.zeros(2, 0), dim=1, error="IndexError")
case("argmax", torch.argmax, given(1, NAN, 5))
case("argmin", torch.argmin, x(3, 4), dim=-1)
for name in "any all count_nonzero".split():
    case(name, getattr(torch, name), torch.tensor([[0, 1], [2, 0]]))
    case(name, getattr(torch, name), torch.tensor([[0.0, 1], [2, NAN]]), dim=0)
case("logsumexp", torch.logsumexp, x(3, 4), [0, 1], True)
case("logsumexp", torch.logsumexp, given(1000, 1001, -INF), 0)
for name in "softmax log_softmax".split():
    case(name, getattr(torch, name), x(3, 4), 0)
norm = torch.linalg.vector_norm
for order in (2, 1, 0, 3, 0.5, -1.5, INF, -INF):
    case("norm", norm, x(2, 3), ord=order, dim=1)
case("norm", norm, given(0, 0, 0))
case("norm_legacy", torch.norm, x(2, 3), 2, 0)
case("norm_legacy", torch.norm, x(2, 3))
for name in "var std var_mean std_mean".split():
    f = getattr(torch, name)
    case(name, f, x(3, 4))
    case(name, f, x(3, 4), dim=1, unbiased=False, keepdim=True)
    case(name, f, x(3, 4), dim=[0], correction=1.3)
    case(name + "_unbiased", f, x(5), True)
case("dist", torch.dist, x(3), x(2, 1), 1.5)
case("trace", torch.trace, x(3, 3))
case("trace", torch.trace, x(3), error="RuntimeError")
case("normalize", F.normalize, x(3, 4))
case("normalize", F.normalize, x(3, 4), p=1.0, dim=0)

# Scans and ranks.
for name in "cumsum cumprod logcumsumexp".split():
    case(name, getattr(torch, name), x(3, 4), 1)
    case(name, getattr(torch, name), x(3, 4), 0)
case("cumsum", torch.cumsum, whole(5), 0)
case("cumsum", torch.cumsum, whole(5), 0, dtype=torch.float64)
case("cumsum", torch.cumsum, x(2), 1, error="IndexError")
case("cumprod", torch.cumprod, given(2, 0, 3, 0, 5), 0)
case("cumprod", torch.cumprod, x(0), 0)
case("median", torch.median, x(4, 3), 0)
case("median", torch.median, given(1, NAN, 2), 0)
case("quantile", torch.quantile, x(3, 5), 0.3, dim=1, keepdim=True)
case("quantile", torch.quantile, x(6), torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64))
case("topk", torch.topk, x(3, 5), 2)
case("topk", torch.topk, x(3, 5), 2, 0, False)
case("topk", torch.topk, x(3), 4, error="RuntimeError")
case("sort", torch.sort, x(3, 4), 0, True)
case("argsort", torch.argsort, x(3, 4))

# Losses and normalisation.
labels = torch.tensor([0, 3, 1])
for reduction in "mean sum none".split():
    case("cross_entropy", F.cross_entropy, x(3, 4), labels, reduction=reduction, label_smoothing=0.2)
    case("nll_loss", F.nll_loss, x(3, 4), labels, weight=short(torch.rand(4, dtype=torch.float64)), reduction=reduction)
    case("mse_loss", F.mse_loss, x(3, 4), x(3, 4), reduction=reduction)
    case("huber_loss", F.huber_loss, x(3, 4), x(3, 4), reduction=reduction, delta=0.7)
    case("binary_cross_entropy_with_logits", F.binary_cross_entropy_with_logits, x(3, 4), x(3, 4, low=0, high=1),
         weight=short(torch.rand(4, dtype=torch.float64)), pos_weight=short(torch.rand(4, dtype=torch.float64)), reduction=reduction)
case("cross_entropy", F.cross_entropy, x(3, 4), labels, weight=short(torch.rand(4, dtype=torch.float64)))
case("cross_entropy", F.cross_entropy, x(3, 4), labels, ignore_index=3)
case("cross_entropy", F.cross_entropy, x(2, 3), torch.softmax(torch.randn(2, 3, dtype=torch.float64), 1))
case("cross_entropy", F.cross_entropy, x(2, 3), torch.tensor([0, 3]), error="IndexError")
case("nll_loss", F.nll_loss, x(2, 3, 2), torch.tensor([[0, 1], [2, 2]]), ignore_index=2)
case("nll_loss", F.nll_loss, x(2, 3), torch.tensor([1, 1]), ignore_index=1)
case("nll_loss", F.nll_loss, x(2, 3), torch.tensor([1, 5]), error="IndexError")
case("huber_loss", F.huber_loss, x(2), x(2), delta=0, error="ValueError")
case("layer_norm", F.layer_norm, x(2, 3, 4), [3, 4], x(3, 4), x(3, 4))
case("layer_norm", F.layer_norm, x(2, 3), [3], eps=0.5)
case("rms_norm", torch.rms_norm, x(2, 4), [4], x(4))
case("rms_norm", torch.rms_norm, x(2, 4), [4], eps=0.25)
case("rms_norm", torch.rms_norm, x(2, 4), [3], error="RuntimeError")
statistics = lambda: (short(torch.randn(2, dtype=torch.float64)), short(torch.rand(2, dtype=torch.float64) + 0.5))
case("batch_norm", F.batch_norm, x(3, 2, 2), *statistics(), x(2), x(2), training=True, momentum=0.3)
case("batch_norm", F.batch_norm, x(3, 2), *statistics(), x(2), x(2), training=False, eps=0.1)
case("batch_norm", F.batch_norm, x(1, 2), *statistics(), training=True, error="ValueError")
