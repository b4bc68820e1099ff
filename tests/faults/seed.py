"""Puts one fault of faults.txt into a tree, or takes it out; says which test saw it."""

import pathlib
import re
import sys


def fields(line):
    """Fields are parted by ' | '; a bar within one is written \\|, a new line \\n."""
    parts = re.split(r"(?<!\\) \| ?", line)
    if len(parts) != 4:
        sys.exit(f"faults.txt: four fields are needed: {line}")
    return [part.replace(r"\|", "|").replace(r"\n", "\n") for part in parts]


def squeeze(text):
    """A pattern for the text that does not depend on how lines are broken."""
    return r"\s+".join(re.escape(word) for word in text.split())


def seed(root, tree, line):
    name, path, old, new = fields(line)
    text = pathlib.Path(root, path).read_text()
    found = re.findall(squeeze(old), text)
    if len(found) != 1:
        print(f"STALE     {name}: its text stands {len(found)} times in {path}", file=sys.stderr)
        sys.exit(1)
    pathlib.Path(tree, path).write_text(re.sub(squeeze(old), lambda _: new, text))
    print(name)


def restore(root, tree, line):
    path = fields(line)[1]
    pathlib.Path(tree, path).write_text(pathlib.Path(root, path).read_text())


def seen_by(log):
    text = pathlib.Path(log).read_text(errors="replace")
    # The name of the first test that failed stands between two rules.
    found = re.search(r"^-{79}\n(.+?)\n-{79}$", text, re.M | re.S)
    return " ".join(found[1].split()) if found else "ended without a report, or ran too long"


if sys.argv[1] == "--restore":
    restore(*sys.argv[2:5])
elif sys.argv[1] == "--seen-by":
    print(seen_by(sys.argv[2]))
else:
    seed(*sys.argv[1:4])
