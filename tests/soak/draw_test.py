"""The rounds of bench/chaos come from their seed alone, and every fault is drawn."""
import itertools, os, sys, unittest

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench")
sys.path[:0] = [BENCH, f"{BENCH}/soak"]
import faults
from rounds import Round
from scenarios import SCENARIOS


def first_faults(seed, count=20, without=()):
    drawn = Round.draw(seed, 240, set(without))
    return str(drawn.shape), [(calm, str(fault)) for calm, fault in itertools.islice(drawn.faults, count)]


class DrawTest(unittest.TestCase):
    def test_a_seed_gives_the_same_round_again(self):
        for seed in range(50):
            self.assertEqual(first_faults(seed), first_faults(seed))

    def test_other_seeds_give_other_rounds(self):
        self.assertGreater(len({str(first_faults(seed)) for seed in range(50)}), 45)

    def test_every_fault_is_drawn_unless_it_cannot_happen_here(self):
        def kinds(without):
            return {type(fault).__name__ for seed in range(200) for _, fault in itertools.islice(Round.draw(seed, 240, without).faults, 20)}
        self.assertEqual(kinds(set()), {kind.__name__ for kind in faults.RANDOM})
        self.assertFalse(kinds({"CutLink", "SlowLinks"}) & {"CutLink", "SlowLinks"})

    def test_every_scenario_says_what_it_does(self):
        for name, scenario in SCENARIOS.items():
            self.assertTrue(scenario.purpose and str(scenario.shape), name)
            for calm, fault in scenario.faults:
                self.assertGreater(len(str(fault)), 3, name)


if __name__ == "__main__":
    unittest.main()
