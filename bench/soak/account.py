"""What the journals of attune-tally's processes say about a job, and whether its sums agree with them. Pure but for Read*()."""
import collections, glob, os


class Journal:
    """Of one process. Items may appear more than once: a lease that was lost is handed out again."""

    def __init__(self, name, lines):
        self.name = name
        self.issued, self.acknowledged = collections.Counter(), collections.Counter()
        self.steps = []  # wall-clock seconds at which steps ended
        for line in lines:
            words = line.split()
            if not line.endswith("\n"):
                continue  # the process was killed within the write
            if words[0] == "S":
                self.steps.append(float(words[1]))
            elif words[0] == "I":
                self.issued[int(words[1])] += 1
            elif words[0] == "A":
                self.acknowledged[int(words[1])] += 1


def read_journals(directory):
    journals = []
    for path in sorted(glob.glob(f"{directory}/journal-*")):
        with open(path) as lines:
            journals.append(Journal(os.path.basename(path), lines))
    return journals


def read_sums(directory):
    """{row: its first value}, or None when no worker came as far as writing them. Several workers may have: a worker that is lost
    while it checks is followed by another; the last that was written whole counts."""
    best = None
    for path in sorted(glob.glob(f"{directory}/sums-*"), key=os.path.getmtime):
        with open(path) as lines:
            sums = {int(row): int(value) for row, value in (line.split() for line in lines if line.endswith("\n"))}
        if best is None or len(sums) >= len(best):
            best = sums
    return best


class Account:
    """violations: sentences, empty when everything is in order."""

    def __init__(self, journals, sums, items, blocks, rows_per_block, reprocessed):
        self.violations = []
        issued, acknowledged = sum((j.issued for j in journals), collections.Counter()), sum((j.acknowledged for j in journals), collections.Counter())
        self.issued, self.acknowledged = issued.total(), acknowledged.total()
        self.again, self.reprocessed = self.issued - len(issued), reprocessed
        self.open = self.issued - self.acknowledged  # pushes whose process ended before it knew
        if sums is None:
            self.violations.append("no worker wrote the sums")
            return
        self._compare(sums, issued, acknowledged, items, blocks, rows_per_block)
        missing = [item for item in range(items) if item not in issued]
        if missing:
            self.violations.append(f"{len(missing)} of {items} items were processed by no worker: {ranges(missing)}")
        if reprocessed is not None and self.again > reprocessed:
            self.violations.append(f"{self.again} items were processed again, and the job reports {reprocessed}")

    def _compare(self, sums, issued, acknowledged, items, blocks, rows_per_block):
        low, high, wanted = [0] * blocks, [0] * blocks, [0] * blocks
        for item, count in acknowledged.items():
            low[item % blocks] += count
        for item, count in issued.items():
            high[item % blocks] += count
        for block in range(blocks):
            wanted[block] = items // blocks + (block < items % blocks)
        rows = blocks * rows_per_block
        if len(sums) != rows:
            self.violations.append(f"the sums have {len(sums)} rows instead of {rows}")
        lost, extra, few = [], [], []
        for row, value in sums.items():
            block = row // rows_per_block
            lost += [row] * (value < low[block])
            extra += [row] * (value > high[block])
            few += [row] * (value < wanted[block])
        example = lambda found: f"{len(found)} rows, for instance row {found[0]}: it holds {sums[found[0]]}, "
        block = lambda found: found[0] // rows_per_block
        if lost:
            self.violations.append(f"acknowledged pushes are lost: {example(lost)}acknowledged were {low[block(lost)]}")
        if extra:
            self.violations.append(f"pushes were applied twice: {example(extra)}issued were {high[block(extra)]}")
        if few:
            self.violations.append(f"items did not reach the rows: {example(few)}items of its block are {wanted[block(few)]}")


def ranges(numbers, most=5):
    """"3-7, 12": sorted numbers as ranges."""
    found = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    text = ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in found[:most])
    return text + (", ..." if len(found) > most else "")


def longest_gap(steps, begin, end):
    """Longest time without a step's end within [begin, end]. steps: sorted wall-clock seconds."""
    times = [begin] + [t for t in steps if begin < t < end] + [end]
    return max(b - a for a, b in zip(times, times[1:]))


def standstill(steps, begin, end, ends):
    """Longest time without a step from `begin` to `end`, None: to the job's. `ends`: when its work ended; what follows is no standstill, also
    where a fault outlasts the work. None when all had been done before there was anything to do without."""
    return longest_gap(steps, begin, min(end or ends, ends)) if ends > begin else None


def all_steps(journals):
    return sorted(t for journal in journals for t in journal.steps)


def last_step(directory):
    """Wall-clock second of the newest step of any process; 0 before the first."""
    last = 0.0
    for path in glob.glob(f"{directory}/journal-*"):
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - 300))
            lines = file.read().split(b"\n")[1:-1]
        last = max([last] + [float(line.split()[1]) for line in lines if line.startswith(b"S ")])
    return last
