#!/usr/bin/env python3
# benchmarks/gpu_table.py - one JSON file and one table of what scripts/gpu has written line by line.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_table.py DIR: reads DIR/results.jsonl, writes DIR/results.json, prints the table."""
import json
import re
import sys
from pathlib import Path

if len(sys.argv) != 2:
    sys.exit("gpu_table.py: " + __doc__)
folder = Path(sys.argv[1])
about, stages, figures, broken = {}, [], [], 0
for text in (folder / "results.jsonl").read_text(errors="replace").splitlines():
    try:
        line = json.loads(text)
    except ValueError:  # a line that was cut short
        broken += 1
        continue
    if "about" in line:
        about.update(line["about"])
    elif "stage" in line:
        stages = [s for s in stages if s["stage"] != line["stage"]] + [line]
    elif "row" in line:
        figures.append(line)

rows = {}
for f in figures:
    if "ms" in f:
        rows.setdefault(f["row"], {})[f["side"]] = f

# Goals: rows, whom we are held against, and how often as fast (or with how much of its GB/s) we should be.
BEST, EAGER, COMPILE, GRAPH, CUBLASLT = "best", "torch eager", "torch compile", "torch graph", "torch cublaslt"
ONE, SLICES, COPY = "cleave 1 rank, 1 micro-batch", "cleave 1 rank", "copy"
GOALS = [(r"mnist\.64\.", EAGER, 10), (r"mnist\.", BEST, 2),
         (r"cifar\.128\.", BEST, 3), (r"cifar\.1024\.", BEST, 1.2),
         (r"ranks\.", SLICES, 1.15), (r"ranks\.", ONE, 1.15),
         (r"G2\..*\.16384", EAGER, 10), (r"G2\.", COMPILE, 3),
         (r"G3\.", CUBLASLT, 1.05), (r"G3\.", COMPILE, 1.25),
         (r"G4\.", EAGER, 20), (r"G4\.", GRAPH, 2),
         (r"G5\.", COPY, 0.92), (r"G5\.", EAGER, 1.15), (r"G7\.", COPY, 0.85)]
SLOWER = {SLICES, ONE}  # here the ratio says how much longer we may take


def held_against(sides, whom):
    """The peer's figure: tf32 is another arithmetic than f32, so it counts only where it is asked for."""
    if whom not in (BEST, "best tf32"):
        return sides.get(whom)
    of = [f for s, f in sides.items() if s.startswith("torch") and s.endswith("tf32") == (whom != BEST)]
    return min(of, key=lambda f: f["ms"], default=None)


table = []
for row, sides in rows.items():
    ours = sides.get("cleave")
    if not ours:
        continue
    wanted = [(whom, goal) for of, whom, goal in GOALS if re.match(of, row)]
    wanted += [(whom, None) for whom in (BEST, "best tf32", "cleave, with input", "cleave libraries")
               if whom not in dict(wanted) and held_against(sides, whom)]
    for whom, goal in wanted:
        peer = held_against(sides, whom)
        line = {"row": row, "ours_ms": ours["ms"], "against": whom, "goal": goal, "side": peer and peer["side"],
                "peer_ms": peer and peer["ms"], "ratio": None, "met": None}
        if peer:
            if whom == COPY:
                line["ratio"] = ours["gb_per_s"] / peer["gb_per_s"]
            else:
                line["ratio"] = ours["ms"] / peer["ms"] if whom in SLOWER else peer["ms"] / ours["ms"]
            if goal is not None:
                line["met"] = line["ratio"] <= goal if whom in SLOWER else line["ratio"] >= goal
        table.append(line)

(folder / "results.json").write_text(
    json.dumps({"about": about, "stages": stages, "table": table, "figures": figures}, indent=1) + "\n")


def ms(v):
    return "-" if v is None else f"{v * 1000:.4g} us" if v < 1 else f"{v:.4g} ms"


for key, value in about.items():
    print(f"{key}: {value}")
print()
for s in stages:
    if s["outcome"] == "failed":
        print(f"failed: {s['stage']}, {s['why']}")
    if "result" in s:
        print(f"{s['stage']}: " + ", ".join(f"{k} {s['result'].get(k)}" for k in ("accuracy", "loss", "seconds", "ranks")))
print()
head = ("row", "ours", "against", "its time", "ratio", "goal", "met")
lines = [head]
for t in table:
    bound = "" if t["goal"] is None else f"{'<=' if t['against'] in SLOWER else '>='} {t['goal']:g}"
    against = t["against"] + (f": {t['side']}" if t["side"] and t["against"] in (BEST, "best tf32") else "")
    lines.append((t["row"], ms(t["ours_ms"]), against, ms(t["peer_ms"]),
                  "-" if t["ratio"] is None else f"{t['ratio']:.3g}", bound,
                  "" if t["goal"] is None else "not measured" if t["met"] is None else "yes" if t["met"] else "NO"))
widths = [max(len(l[i]) for l in lines) for i in range(len(head))]
for l in lines:
    print("  ".join(text.ljust(w) if i in (0, 2, 6) else text.rjust(w)
                    for i, (text, w) in enumerate(zip(l, widths))).rstrip())
failed = [f for f in figures if "error" in f]
for f in failed:
    print(f"{f['row']} {f['side']}: {f['error'].splitlines()[0]}")
if broken:
    print(f"{broken} lines of results.jsonl were cut short and are left out")
print(f"\nwrote {folder / 'results.json'}")
