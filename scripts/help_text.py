"""What `--help` of a program says, and its parts: for the reference (scripts/reference) and for man pages (scripts/man-pages)."""
import re
import subprocess
import sys


def help_of(binaries, *words):
    """The same text on every machine: no terminal, an environment of its own."""
    done = subprocess.run([*words, "--help"], executable=binaries / words[0], env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} --help ended with {done.returncode}: {done.stderr.strip()}; build the program first")
    return done.stdout


def commands_of(text):
    """Names in the lists of a program with commands, which are grouped by what a user wants."""
    if "SUBCOMMAND" not in text:
        return []
    groups = re.findall(r"^(?!Positionals|Options)\S.*:\n((?:  .*\n)+)", text, re.MULTILINE)
    return [name for lines in groups for name in re.findall(r"^  (\S+) ", lines, re.MULTILINE)]


def rows_of(lines):
    """(left, right) of a list of options or commands, whose right column may begin on the next line and continue."""
    further = [len(line) - len(line.lstrip()) for line in lines if not re.match(r"  \S", line)]
    column = max(set(further), key=further.count) if further else None
    rows = []
    for number, line in enumerate(lines):
        if not re.match(r"  \S", line):
            rows[-1][1] = f"{rows[-1][1]} {line.strip()}".strip()
            continue
        left, gap, right = line.strip().partition("  ")
        full = number + 1 == len(lines) or re.match(r"  \S", lines[number + 1])  # the left column is, and the right one follows
        if not gap and full and column and line[column - 1:column] == " ":
            left, right = line[:column].strip(), line[column:]
        rows.append([left, right.strip()])
    return rows
