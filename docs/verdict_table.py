"""Writes the tables of docs/verdict-study.md from `powerbond bench verdict --json`:

powerbond bench verdict --json | python3 docs/verdict_table.py
"""

import json
import pathlib
import sys

WORDS = ["trustworthy", "check", "unreliable"]


def percent(x):
    if x is None or x > 1e3:
        return "> 1000 %"
    if x == 0:
        return "0 %"
    return f"{x:.2g} %" if x < 100 else f"{x:.0f} %"


def cell(quantities):
    true, estimate = quantities["true_error"]["measured"], quantities["estimate"]["measured"]
    word = WORDS[int(quantities["word"]["measured"])]
    guess = "large" if word == "unreliable" else percent(estimate)
    return f"{percent(true)}, {word} ({guess})"


def main():
    report = json.load(sys.stdin)
    cells, steps, random = {}, {}, []
    for row in report["rows"]:
        quantities = {q["name"]: q for q in row["quantities"]}
        if "word" not in quantities:
            if "bad_runs" in quantities:
                random.append((row["id"], quantities))
            continue
        system, method, step = row["id"].split("/")
        steps.setdefault(system, [])
        if step not in steps[system]:
            steps[system].append(step)
        cells[system, method, step] = cell(quantities)
    lines = []
    for system, list_of_steps in steps.items():
        head = [f"{1e3 * float(s):g} ms" for s in list_of_steps]
        lines += ["", f"### {system}", "", "| method | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
        for method in dict.fromkeys(m for s, m, _ in cells if s == system):
            row = [cells.get((system, method, s), "") for s in list_of_steps]
            lines.append(f"| {method} | " + " | ".join(row) + " |")
    names = list(random[0][1])

    def shown(quantity):
        x = quantity["measured"]
        return f"{x:.0f}" if not quantity["unit"] else f"{x:.1f} %"

    head = ["runs of", *[name.replace("_", " ") for name in names]]
    table = ["", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, quantities in random:
        table.append(f"| {name.replace('-', ' ')} | " + " | ".join(shown(quantities[n]) for n in names) + " |")
    page = pathlib.Path(__file__).with_name("verdict-study.md")
    text = page.read_text()
    for marker, block in [("random", table), ("models", lines)]:
        start, end = f"<!-- {marker}: made by verdict_table.py -->", f"<!-- end of {marker} -->"
        before, rest = text.split(start)
        text = before + start + "\n" + "\n".join(block) + "\n\n" + end + rest.split(end)[1]
    page.write_text(text)


if __name__ == "__main__":
    main()
