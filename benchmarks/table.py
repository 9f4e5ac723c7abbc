"""Writes the table of results into the README, from the result files alone.

python benchmarks/table.py            prints it
python benchmarks/table.py --write    puts it between the marks in README.md
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

HERE = Path(__file__).parent
NEUTRAL = 2
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
NAMES = {"classic": "**CLASSIC**", "ncl": "NCL (same adapters, no masks, no losses)"}


def table() -> str:
    """The 19 domains in the paper's orders, preset `default`, DIL."""
    results = [
        json.loads(file.read_text()) for file in sorted((HERE / "results").glob("*-default-dil-order*-seed0.json"))
    ]
    results.sort(key=lambda result: (result["name"].split("-order")[1], result["system"]["method"] != "classic"))
    lines = [
        "The paper's 19 domains, one after another, over MiniLM (a fifth of the paper's BERT), preset `default`,",
        "nobody says the domain; made by",
        "`python benchmarks/order.py --method METHOD --order ORDER --threads 1 --rows last`:",
        "",
        "| order | system | accuracy | macro-F1 | over own classes | forward macro-F1 "
        "| neutral found | stray neutral | CPU minutes | memory |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        scores = result["scores"]
        order = result["name"].split("-order")[1].split("-")[0]
        lines.append(
            f"| {order} | {NAMES[result['system']['method']]} | {scores['final_accuracy']:.4f} | {scores['final_f1']:.4f} | "
            f"{scores['final_fair_f1']:.4f} | {scores['forward_f1']:.4f} | "
            f"{neutral(result)} | {result['cpu_seconds'] / 60:.0f} | "
            f"{result['peak_memory_bytes'] / 2**30:.1f} GiB |"
        )
    return "\n".join(lines)


def neutral(result: dict) -> str:
    """Neutral test examples found, and "neutral" said in domains that have none, by the last model."""
    found = true = stray = other = 0
    for answers in result["final_answers"].values():
        pairs = answers["pairs"]
        if any(t == NEUTRAL for t, _, _ in pairs):
            true += sum(count for t, _, count in pairs if t == NEUTRAL)
            found += sum(count for t, said, count in pairs if t == said == NEUTRAL)
        else:
            other += sum(count for _, _, count in pairs)
            stray += sum(count for _, said, count in pairs if said == NEUTRAL)
    return f"{found} of {true} | {stray} of {other}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    text = table()
    if parser.parse_args().write:
        readme = HERE.parent / "README.md"
        before, _, rest = readme.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        readme.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    print(text)


if __name__ == "__main__":
    main()
