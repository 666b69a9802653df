"""The pages of the repository as links, anchors, blocks of code and spans of code."""
import functools
import pathlib
import re
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Block(NamedTuple):
    page: str
    line: int      # of the fence
    language: str  # the word after the fence
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


class Span(NamedTuple):
    page: str
    line: int
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


@functools.cache
def pages():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
    paths = listed.stdout.splitlines() if listed.returncode == 0 else [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.md")]
    return sorted(path for path in paths if not path.startswith("build/") and (ROOT / path).is_file())


@functools.cache
def parts(page):
    """(line, text) of what is no code, and the blocks of code."""
    words, blocks, begin, inside = [], [], None, []
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        fence = re.match(r"\s*```+\s*(.*)$", line)
        if fence and begin is None:
            begin, language, inside = number, fence[1], []
        elif fence:
            blocks.append(Block(page, begin, language, "\n".join(inside) + "\n"))
            begin = None
        elif begin is None:
            words.append((number, line))
        else:
            inside.append(line)
    assert begin is None, f"{page}:{begin}: a block of code that does not end"
    return words, blocks


def blocks():
    return [block for page in pages() for block in parts(page)[1]]


def spans(page):
    """Code within lines. A bar is escaped in tables."""
    for number, line in parts(page)[0]:
        for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", line):
            yield Span(page, number, span.replace(r"\|", "|"))


def links(page):
    """(line, target) of every link and picture."""
    for number, line in parts(page)[0]:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            yield number, target


def ragged_rows(page):
    """(line, cells, cells of the head) of rows of tables that differ from their head: what is too much is not shown. Escaped bars are text."""
    head, before = None, 0
    for number, line in parts(page)[0]:
        if not line.startswith("|") or number != before + 1:
            head = None
        if line.startswith("|"):
            cells = len(re.split(r"(?<!\\)\|", line.strip())) - 2
            head = cells if head is None else head
            if cells != head:
                yield number, cells, head
        before = number


@functools.cache
def anchors(page):
    """As hosts of repositories make them of headings; scripts/site/build has mkdocs make the same."""
    found = set()
    for _, line in parts(page)[0]:
        heading = re.match(r"#+ (.*)$", line)
        if not heading:
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
        anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        count = 0
        while anchor + (f"-{count}" if count else "") in found:
            count += 1
        found.add(anchor + (f"-{count}" if count else ""))
    return found
