"""Model cards: what a version is, in words. Equal records give equal cards."""

from __future__ import annotations

from typing import Any

from classic.evaluation.details import by_class, confusion_matrix, intervals
from classic.types import POLARITIES, Polarity


def write_card(record: dict[str, Any], system: dict[str, Any], domains: list[str]) -> str:
    """A Markdown card of a version."""
    test = record["scores"].get("test") or record["scores"].get("valid") or {}
    part = "test" if "test" in record["scores"] else "validation"
    lines = [
        f"# {record['domain']}",
        "",
        f"Domain {len(domains)} of a model that learned, one after another: {', '.join(domains)}.",
        "",
        "| | |",
        "|---|---|",
        f"| method | {system['method']} on {system['backbone']} ({system['backbone_config'].get('encoder', '')}) |",
        f"| scenario | {system['scenario'].upper()}, task id: {system['task_id']} |",
        f"| training examples | {_counts(record['counts']['train'])} |",
        f"| validation examples | {_counts(record['counts']['valid'])} |",
        f"| test examples | {_counts(record['counts']['test'])} |",
    ]
    if test:
        lines += [
            f"| {part} accuracy | {test['accuracy']:.4f} |",
            f"| {part} macro-F1 (classes in truth or answer) | {test['macro_f1']:.4f} |",
            f"| {part} macro-F1 (the domain's own classes) | {test['own_f1']:.4f} |",
        ]
    if test.get("pairs"):
        low, high = intervals(test, record["classes"])["accuracy"]
        lines.append(f"| {part} accuracy, 95 % interval | {low:.3f} to {high:.3f} |")
    lines.append(f"| calibration temperature | {record['temperature'][0]:.3f} |")
    capacity = record.get("capacity")
    if capacity:
        lines += [
            f"| units used | {capacity['used']:.1%} ({capacity['new']:.1%} new, {capacity['shared']:.1%} shared) |",
            f"| units still free | {capacity['free']:.1%} |",
        ]
    lines += [
        *_classes(test, part),
        "",
        "## Limits",
        "",
        "- The answer is one of positive, negative, neutral, for one aspect in one English sentence.",
        _missing(record["classes"]),
        _texts(record),
        "- To forget this domain exactly, roll back to the version before it and prune; domains learned later must be "
        "taught again.",
        "",
    ]
    return "\n".join(line for line in lines if line is not None)


def _classes(test: dict[str, Any], part: str) -> list[str]:
    """Every class by itself, and what was answered in its place."""
    if not test.get("pairs"):
        return []
    matrix = confusion_matrix(test)
    lines = [
        "",
        f"## Classes ({part} examples)",
        "",
        "| true | examples | precision | recall | F1 | " + " | ".join(f"said {name}" for name in POLARITIES) + " |",
        "|---|" + "---:|" * (4 + len(POLARITIES)),
    ]
    for name, own in by_class(test).items():
        said = " | ".join(map(str, matrix[Polarity(name).column]))
        shares = f"{own['precision']:.3f} | {own['recall']:.3f} | {own['f1']:.3f}"
        lines.append(f"| {name} | {own['examples']} | {shares} | {said} |")
    return lines


def _texts(record: dict[str, Any]) -> str:
    if record.get("keeps_texts"):
        return "- **This method keeps training texts, word for word, in its versions.** Whoever has the store can read them."
    return "- No training text is kept. The weights were shaped by it, though, and may tell something about it."


def _counts(counts: dict[str, int]) -> str:
    return f"{sum(counts.values())} ({', '.join(f'{count} {name}' for name, count in counts.items())})"


def _missing(classes: list[str]) -> str:
    missing = [name for name in ("positive", "negative", "neutral") if name not in classes]
    if not missing:
        return "- The domain had examples of all three polarities."
    had = f"- The domain had no {' and no '.join(missing)} examples"
    return f"{had}: this version hardly says {' or '.join(missing)} about texts like its own."
