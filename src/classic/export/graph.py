"""Writes a folded network as an ONNX graph: dynamic batch and length, in the operators onnxruntime is fastest at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from classic.errors import IncompatibleError
from classic.modules.domain_map import DomainMap
from classic.modules.domain_reader import LEAST, DomainReader, KnownDomain
from classic.modules.folded import FoldedAdapter, FoldedBlock, FoldedLayer, RelativeBias
from classic.prediction.folding import Folded, FoldedFinder
from classic.runtime.pairs import MARKED

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("logits", "distances")
_OPSET, _IR = 20, 10
_CONTRIB = "com.microsoft"
_ACTIVATIONS = {"GELUActivation": "Gelu", "GELU": "Gelu", "ReLU": "Relu"}


@dataclass(frozen=True)
class Range:
    """How the input of a layer is kept in 8 bits.

    Attributes:
        smooth: (columns,); the input is multiplied by it and the weight divided, so that both are as easy to round.
        scale: One step of the rounded, smoothed input.
        zero: The step that stands for 0.
    """

    smooth: np.ndarray
    scale: float
    zero: int


def write_graph(folded: Folded, domains: DomainMap, ranges: dict[str, Range] | None = None) -> Any:
    """The ONNX model (`onnx.ModelProto`) of a folded network and its domain map.

    Inputs are int64 (B, L): input_ids, attention_mask, token_type_ids. Outputs are logits (B, C), not yet divided by the
    temperature, and distances (B, T) to the learned domains.

    Args:
        folded: The network.
        domains: The domain map.
        ranges: Layers whose products are computed in 8 bits, by their name in the network; none if there are none.
    """
    writer = _Writer(ranges or {})
    states = writer.embed(folded)
    mask = writer.node("Cast", ["attention_mask"], to=6)  # int32, as the attention takes it
    writer.relative(folded.relative)
    real = writer.node("Unsqueeze", [writer.node("Cast", ["attention_mask"], to=1), writer.integers([2])])
    for number, layer in enumerate(folded.layers):
        assert isinstance(layer, FoldedLayer)
        states = writer.layer(layer, f"layers.{number}", states, mask)
    states = writer.texts(states)
    if folded.pool == "mean":
        features = writer.mean(states, real)
    elif folded.pool == "aspect":
        features = writer.node("Concat", [writer.mean(states, real), writer.mean(states, writer.marked(real))], axis=1)
    else:
        features = writer.node("Gather", [states, writer.integers(0)], axis=1)
        if isinstance(folded.pool, nn.Module):
            features = writer.node("Tanh", [writer.linear(folded.pool.dense, "pool", features)])  # type: ignore[arg-type]
    said = writer.linear(folded.head, "head", features)
    words = writer.node("Gather", [writer.shared(folded.words), "input_ids"])
    surface = writer.mean(words, real)
    writer.distances(domains, surface)
    writer.read(folded.reader, said, surface)
    widths = (folded.head.out_features, len(domains.means))
    return writer.model({name: ["batch", width] for name, width in zip(OUTPUTS, widths, strict=True)})


def write_finder(folded: FoldedFinder, ranges: dict[str, Range] | None = None) -> Any:
    """The ONNX model of a finder: the same inputs, and logits (B, L, 3) of every token."""
    writer = _Writer(ranges or {})
    states = writer.embed(folded)
    mask = writer.node("Cast", ["attention_mask"], to=6)
    writer.relative(folded.relative)
    for number, layer in enumerate(folded.layers):
        assert isinstance(layer, FoldedLayer)
        states = writer.layer(layer, f"layers.{number}", states, mask)
    writer.node("Identity", [writer.texts(writer.linear(folded.head, "head", states))], "words")
    return writer.model({"words": ["batch", "length", folded.head.out_features]})


class _Writer:
    """Nodes and constants of a graph in the making; every method takes and gives names of values.

    Between attentions states are rows, (B L, d), because onnxruntime's product of two matrices takes the bias and a ReLU
    along, and its product of anything larger does not.
    """

    def __init__(self, ranges: dict[str, Range]) -> None:
        self._ranges = ranges
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._shared: dict[int, str] = {}
        self._grid = self._relative = ""

    # --- building blocks --------------------------------------------------------------------------------------------

    def node(self, kind: str, inputs: list[str], output: str = "", domain: str = "", **attributes: Any) -> str:
        output = output or f"{kind.lower()}_{len(self._nodes)}"
        self._add(kind, inputs, [output], domain, **attributes)
        return output

    def _add(self, kind: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any) -> None:
        from onnx import helper

        name = f"node_{outputs[0]}"
        self._nodes.append(helper.make_node(kind, inputs, outputs, name=name, domain=domain, **attributes))

    def constant(self, values: np.ndarray | Tensor) -> str:
        from onnx import numpy_helper

        array = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def shared(self, values: Tensor) -> str:
        """A constant that is written once however often it is used."""
        key = values.data_ptr()
        if key not in self._shared:
            self._shared[key] = self.constant(values)
        return self._shared[key]

    def integers(self, values: list[int] | int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def rows(self, states: str) -> str:
        """(B, L, d) as (B L, d); nothing is copied."""
        return self.node("Flatten", [states], axis=2)

    def texts(self, states: str) -> str:
        """(B L, n) as (B, L, n)."""
        if not self._grid:
            self._grid = self.node("Concat", [self.node("Shape", ["input_ids"]), self.integers([-1])], axis=0)
        return self.node("Reshape", [states, self._grid])

    # --- parts of the network ---------------------------------------------------------------------------------------

    def embed(self, folded: Folded | FoldedFinder) -> str:
        modules = dict(folded.embeddings.named_children())
        inner: Any = modules.get("embeddings", folded.embeddings)
        if inner.position_embeddings.padding_idx is None:
            length = self.node("Gather", [self.node("Shape", ["input_ids"]), self.integers([1])])
            table = self.constant(inner.position_embeddings.weight)
            places = self.node("Slice", [table, self.integers([0]), length, self.integers([0])])
        else:  # RoBERTa counts the real tokens, from the padding's number on
            padding = self.integers(inner.position_embeddings.padding_idx)
            real = self.node("Cast", [self.node("Not", [self.node("Equal", ["input_ids", padding])])], to=7)
            counted = self.node("Mul", [self.node("CumSum", [real, self.integers(1)]), real])
            numbers = self.node("Add", [counted, padding])
            places = self.node("Gather", [self.constant(inner.position_embeddings.weight), numbers])
        words = self.node("Gather", [self.shared(inner.word_embeddings.weight), "input_ids"])
        if "token_type_embeddings" in dict(inner.named_children()):  # MPNet knows no segments
            known = self.node("Min", ["token_type_ids", self.integers(inner.token_type_embeddings.num_embeddings - 1)])
            kinds = self.node("Gather", [self.constant(inner.token_type_embeddings.weight), known])
            words = self.node("Add", [words, kinds])
        states = self.rows(self.norm(inner.LayerNorm, self.node("Add", [words, places])))
        if "project" in modules:
            states = self.linear(modules["project"], "project", states)  # type: ignore[arg-type]
        return states

    def layer(self, layer: FoldedLayer, name: str, states: str, mask: str) -> str:
        seen = self.attention(layer, f"{name}.joint", states, mask)
        states = self.block(layer.attended, f"{name}.attended", seen, states)
        kind = _ACTIVATIONS.get(type(layer.activation).__name__)
        if kind is None:
            raise IncompatibleError(
                f"an encoder with the activation {type(layer.activation).__name__} cannot be exported",
                fix="use an encoder with gelu or relu",
            )
        inner = self.node(kind, [self.linear(layer.intermediate, f"{name}.intermediate", states)])
        return self.block(layer.fed, f"{name}.fed", inner, states)

    def attention(self, layer: FoldedLayer, name: str, states: str, mask: str) -> str:
        if self._relative:  # onnxruntime has no attention that takes both 8 bits and a bias
            inputs = [*self.thirds(self.texts(self.linear(layer.joint, name, states))), "", mask, self._relative]
            return self.rows(self.node("MultiHeadAttention", inputs, domain=_CONTRIB, num_heads=layer.heads))
        weight, bias = layer.joint.weight.T, self.constant(layer.joint.bias)
        if name not in self._ranges:
            inputs = [self.texts(states), self.constant(weight), bias, mask]
            return self.rows(self.node("Attention", inputs, domain=_CONTRIB, num_heads=layer.heads))
        rounded, step, zero = self.rounded(name, states)
        small, steps = self.small(name, weight)
        inputs = [self.texts(rounded), small, bias, step, steps, mask, zero]
        return self.rows(self.node("QAttention", inputs, domain=_CONTRIB, num_heads=layer.heads))

    def relative(self, relative: RelativeBias | None) -> None:
        """The bias (1, heads, L, L) of all attentions, where there is one: see `RelativeBias`."""
        if relative is None:
            return
        length = self.node("Gather", [self.node("Shape", ["input_ids"]), self.integers(1)])
        tokens = self.node("Range", [self.integers(0), length, self.integers(1)])
        apart = self.node("Sub", [tokens, self.node("Unsqueeze", [tokens, self.integers([1])])])
        index = self.node("Add", [apart, self.integers(relative.values.shape[1] // 2)])
        bias = self.node("Gather", [self.constant(relative.values), index], axis=1)
        self._relative = self.node("Unsqueeze", [bias, self.integers([0])])

    def thirds(self, states: str) -> list[str]:
        """Queries, keys and values out of one product."""
        outputs = [f"third_{part}_{len(self._nodes)}" for part in range(3)]
        self._add("Split", [states], outputs, axis=-1, num_outputs=3)
        return outputs

    def block(self, block: FoldedBlock, name: str, states: str, residual: str) -> str:
        states = self.linear(block.dense, f"{name}.dense", states)
        if isinstance(block.adapter, FoldedAdapter):
            states = self.adapter(block.adapter, f"{name}.adapter", states)
        return self.norm(block.norm, states, residual)

    def adapter(self, adapter: FoldedAdapter, name: str, states: str) -> str:
        hidden = self.node("Relu", [self.linear(adapter.down, f"{name}.down", states)])
        change = self.node("Relu", [self.linear(adapter.up, f"{name}.up", hidden)])
        if adapter.place is not None:
            padded = self.node("Pad", [change, self.integers([0, 0, 0, 1])])
            change = self.node("Gather", [padded, self.constant(adapter.place)], axis=-1)
        return self.node("Add", [states, change])

    def norm(self, norm: nn.LayerNorm, states: str, residual: str = "") -> str:
        values = [self.constant(norm.weight), self.constant(norm.bias)]
        summed = self.node("Add", [states, residual]) if residual else states
        return self.node("LayerNormalization", [summed, *values], axis=-1, epsilon=norm.eps)

    def linear(self, layer: nn.Linear, name: str, states: str) -> str:
        weight, bias = layer.weight.T, self.constant(layer.bias)
        if name not in self._ranges:
            return self.node("Gemm", [states, self.constant(weight), bias])
        rounded, step, zero = self.rounded(name, states)
        small, steps = self.small(name, weight)
        inputs = [rounded, small, step, steps, zero, "", bias]
        return self.node("MatMulIntegerToFloat", inputs, domain=_CONTRIB)

    def rounded(self, name: str, states: str) -> tuple[str, str, str]:
        """The smoothed input of a layer in 8 bits, its step and its zero."""
        found = self._ranges[name]
        step, zero = self.number(found.scale), self.constant(np.array(found.zero, dtype=np.uint8))
        smooth = self.node("Mul", [states, self.constant(found.smooth)])
        return self.node("QuantizeLinear", [smooth, step, zero]), step, zero

    def small(self, name: str, weight: Tensor) -> tuple[str, str]:
        """The weight (inputs, outputs) of a layer in 8 bits, and the step of each output."""
        smoothed = weight.detach().cpu() / torch.from_numpy(self._ranges[name].smooth).unsqueeze(1)
        steps = (smoothed.abs().amax(dim=0) / 127).clamp(min=1e-12)
        return self.constant((smoothed / steps).round().to(torch.int8)), self.constant(steps)

    def mean(self, states: str, real: str) -> str:
        axis = self.integers([1])
        total = self.node("ReduceSum", [self.node("Mul", [states, real]), axis], keepdims=0)
        return self.node("Div", [total, self.node("ReduceSum", [real, axis], keepdims=0)])

    def marked(self, real: str) -> str:
        """(B, L, 1), 1 for the aspect's own tokens; where there are none, for all real ones."""
        found = self.node("Cast", [self.node("Equal", ["token_type_ids", self.integers(MARKED)])], to=1)
        own = self.node("Unsqueeze", [found, self.integers([2])])
        some = self.node("ReduceMax", [own, self.integers([1])], keepdims=1)
        return self.node("Add", [own, self.node("Mul", [self.node("Sub", [self.number(1.0), some]), real])])

    def distances(self, domains: DomainMap, surface: str) -> None:
        whitener = domains.whitener().cpu()
        whitened = self.node("MatMul", [surface, self.constant(whitener.T)])
        means = self.constant((domains.means.cpu() @ whitener.T).unsqueeze(0))
        gaps = self.node("Sub", [self.node("Unsqueeze", [whitened, self.integers([1])]), means])
        self.node("ReduceL2", [gaps, self.integers([2])], "distances", keepdims=0)

    def read(self, reader: nn.Module | None, said: str, surface: str) -> None:
        if isinstance(reader, KnownDomain):
            said = self.node("Add", [said, self.constant(reader.expected)])
        if not isinstance(reader, DomainReader):
            self.node("Identity", [said], "logits")
            return
        place = self.linear(reader.place, "reader", surface)
        domain = self.node("Unsqueeze", [self.node("LogSoftmax", [place], axis=1), self.integers([2])])
        expected = self.constant(reader.expected.unsqueeze(0))
        opened = self.node("Add", [self.node("Unsqueeze", [said, self.integers([1])]), expected])
        answer = self.node("LogSoftmax", [opened], axis=2)
        read = self.node("ReduceLogSumExp", [self.node("Add", [domain, answer]), self.integers([1])], keepdims=0)
        self.node("Clip", [read, self.number(LEAST)], "logits")

    def model(self, outputs: dict[str, list[str | int]]) -> Any:
        from onnx import TensorProto, checker, helper

        graph = helper.make_graph(
            self._nodes,
            "classic",
            [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in INPUTS],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="classic-asc")
        model.ir_version = _IR
        checker.check_model(model)
        return model
