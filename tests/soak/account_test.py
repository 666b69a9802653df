"""The account of bench/chaos finds what it is there to find: each way to be wrong is tried on a small job that was right."""
import os, sys, unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/soak"))
from account import Account, Journal, all_steps, longest_gap, ranges, standstill

ITEMS, BLOCKS, ROWS = 6, 2, 3


def journal(*lines):
    return Journal("journal-0", [line + "\n" for line in lines])


def whole():
    """Two workers, three items each, all acknowledged."""
    return [journal(*(f"{kind} {item}" + " 1.0" * (kind == "I") for item in items for kind in "IA")) for items in ((0, 1, 2), (3, 4, 5))]


def right_sums():
    return {row: 3 for row in range(BLOCKS * ROWS)}


def account(journals, sums, reprocessed=0):
    return Account(journals, sums, ITEMS, BLOCKS, ROWS, reprocessed)


class AccountTest(unittest.TestCase):
    def expect(self, found, words):
        self.assertTrue(any(words in violation for violation in found.violations), f"'{words}' is not in {found.violations}")

    def test_a_job_without_faults_is_in_order(self):
        self.assertEqual(account(whole(), right_sums()).violations, [])

    def test_a_lost_acknowledged_push_is_found(self):
        sums = right_sums()
        sums[4] -= 1
        self.expect(account(whole(), sums), "acknowledged pushes are lost: 1 rows, for instance row 4")

    def test_a_push_that_was_applied_twice_is_found(self):
        sums = right_sums()
        sums[0] += 1
        self.expect(account(whole(), sums), "pushes were applied twice: 1 rows, for instance row 0")

    def test_an_item_that_no_worker_had_is_found_although_sums_and_journals_agree(self):
        journals = [whole()[0], journal("I 3 1.0", "A 3", "I 4 1.0", "A 4")]
        sums = {row: 3 if row < ROWS else 2 for row in range(BLOCKS * ROWS)}
        found = account(journals, sums)
        self.expect(found, "1 of 6 items were processed by no worker: 5")
        self.expect(found, "items did not reach the rows: 3 rows, for instance row 3")

    def test_what_a_killed_process_did_not_know_may_be_there_or_not(self):
        killed = journal("I 0 1.0", "A 0", "I 1 1.0")
        others = [journal(*(f"{kind} {item}" + " 1.0" * (kind == "I") for item in (1, 2, 3, 4, 5) for kind in "IA"))]
        for value in (3, 4):
            sums = {row: 3 if row < ROWS else value for row in range(BLOCKS * ROWS)}
            self.assertEqual(account([killed, *others], sums, reprocessed=1).violations, [])
        sums = {row: 3 if row < ROWS else 5 for row in range(BLOCKS * ROWS)}
        self.expect(account([killed, *others], sums, reprocessed=1), "applied twice")

    def test_items_done_again_must_be_reported(self):
        journals = [*whole(), journal("I 0 1.0", "A 0")]
        sums = {row: 4 if row < ROWS else 3 for row in range(BLOCKS * ROWS)}
        self.assertEqual(account(journals, sums, reprocessed=1).violations, [])
        self.expect(account(journals, sums), "1 items were processed again, and the job reports 0")

    def test_a_job_that_wrote_no_sums_is_found(self):
        self.expect(account(whole(), None), "no worker wrote the sums")

    def test_missing_rows_are_found(self):
        sums = right_sums()
        del sums[5]
        self.expect(account(whole(), sums), "5 rows instead of 6")

    def test_a_line_that_a_kill_cut_off_does_not_count(self):
        self.assertEqual(Journal("x", ["I 1 1.0\n", "A 1"]).acknowledged.total(), 0)

    def test_what_follows_the_work_is_no_standstill(self):
        steps = [1, 2, 4, 5]
        for what, begin, end, expected in (("a fault within the work", 1, 4, 2), ("no end is known", 2, None, 2), ("a fault that outlasts the work", 2, 90, 2), ("one that begins after it", 6, 90, None)):
            with self.subTest(what):
                self.assertEqual(standstill(steps, begin, end, 5), expected)

    def test_the_longest_gap_counts_both_ends(self):
        steps = all_steps([journal("S 5.0", "S 6.0"), journal("S 9.0")])
        self.assertEqual(longest_gap(steps, 0, 10), 5.0)
        self.assertEqual(longest_gap(steps, 5, 10), 3.0)
        self.assertEqual(longest_gap(steps, 9, 20), 11.0)

    def test_ranges(self):
        self.assertEqual(ranges([1, 2, 3, 7]), "1-3, 7")


if __name__ == "__main__":
    unittest.main()
