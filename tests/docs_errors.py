#!/usr/bin/env python3
# docs_errors.py INCLUDE <QUOTATIONS - each quotation is in a header, and every message that a header's static_assert, error or
# refusal holds is quoted, in part.
import pathlib
import re
import sys

# Texts that are no message of their own: where they stand, which call they are given to, and why.
ALLOWED = {
    ("io/json.hpp", "fail"): "the reason behind ': not valid JSON: '",
    ("io/safetensors.hpp", "refuse"): "the reason behind ': refused as a safetensors file: '",
    ("schedule/exchange_check.hpp", "refuse"): "a mistake in an exchange of the library: tests alone ask for it",
    ("backend/nccl/link.hpp", "fail"): "the call's name, in an error of NCCL whose text stands behind it",
}
CALLS = ("static_assert", "Error", "Diverged", "Refusal", "Unreachable", "OtherPlan", "fail", "refuse")

# A comment, a raw literal, a literal (the group), a character (not the ' of 10'000), or anything else.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<raw>\w*)\(.*?\)(?P=raw)"|"((?:[^"\\]|\\.)*)"|(?<!\w)'(?:\\.[^']*|[^'\\])'|.""", re.S)
CALL = re.compile(r"\b(" + "|".join(CALLS) + r")[({]+$")
LITERALS = re.compile(r"\0(?:\s*\0)*")  # adjacent literals are one text


def messages(text):
    """The line, the call and the literals of each call. In `code` a literal is one \\0, and there are no comments."""
    code, literals, line = [], [], 1
    for token in TOKEN.finditer(text):
        said = token[0]
        if token[2] is not None:
            code.append("\0")
            literals.append((line, token[2].replace('\\"', '"')))
        elif said[0] == "'" and len(said) > 1:
            code.append("0")
        elif not said.startswith(("//", "/*")):
            code.append(said)
        line += said.count("\n")
    code = "".join(code)
    open_calls, before = [], 0
    for at, c in enumerate(code):
        if c in "({":
            call = CALL.search(code, max(0, at - 40), at + 1)
            open_calls.append((call and call[1], at, before))
        elif c in ")}" and open_calls:
            call, begin, first = open_calls.pop()
            # Of `Error({...})` the outer parenthesis is the call.
            if call and before > first and not (open_calls and open_calls[-1][0] and open_calls[-1][1] == begin - 1):
                parts, k = [], first
                for group in LITERALS.finditer(code, begin, at):
                    count = group[0].count("\0")
                    parts.append("".join(text for _, text in literals[k:k + count]))
                    k += count
                yield literals[first][0], call, parts
        elif c == "\0":
            before += 1


def is_quoted(literal, quotations):
    """A short quotation must begin the literal: 'label ' is somewhere in many."""
    return any(literal.startswith(q) or (len(q) >= 10 and q in literal) for q in quotations)


def main():
    include, quotations = pathlib.Path(sys.argv[1]), [q for q in sys.stdin.read().split("\n") if q.strip()]
    found = missing = 0
    headers = {header: header.read_text() for header in sorted(include.rglob("*.hpp"))}
    sources = re.sub(r'"\s*"', "", "".join(headers.values()))  # adjacent literals are one text
    for quotation in quotations:
        if quotation not in sources:
            print(f"no header says: {quotation}")
            missing += 1
    if len(quotations) <= 300:
        sys.exit(f"only {len(quotations)} quotations were found")
    for header, text in headers.items():
        place = str(header.relative_to(include)).removeprefix("cleave/")
        for line, call, literals in messages(text):
            # A lone word is a part of a text that a function makes.
            if len(re.findall(r"\w+", " ".join(literals))) < 2 or (place, call) in ALLOWED:
                continue
            found += 1
            if not any(is_quoted(text, quotations) for text in literals):
                print(f"errors.md does not quote this message: {header}:{line}: {' ... '.join(literals)}")
                missing += 1
    if found < 450:
        sys.exit(f"only {found} messages were found in {include}")
    if missing:
        sys.exit(1)
    print(f"{found} messages of the headers are quoted, and {len(quotations)} quotations are in them")


main()
