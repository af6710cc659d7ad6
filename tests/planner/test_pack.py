"""The packing itself, on plain numbers."""

import random
from collections.abc import Callable, Sequence

import pytest

from spillway.planner.amounts import Need, most, subtract
from spillway.planner.greedy import Limiter, Packing
from spillway.planner.pack import pack
from spillway.planner.stock import Offer


def need(*amounts: int) -> Need:
    return Need(tuple((dimension, amount) for dimension, amount in enumerate(amounts) if amount))


def offer(*have: int, price: float, room: int = 100, items: Sequence[int] = (0, 1)) -> Offer:
    return Offer(have, price, room, frozenset(items))


def packed(
    needs: Sequence[Need],
    counts: Sequence[int],
    offers: Sequence[Offer],
    limiter: Callable[[], Limiter] = Limiter,
    resources: int = 2,
) -> Packing:
    return pack(needs, counts, offers, resources, limiter)


def test_two_shapes_that_complement_each_other_share_nodes() -> None:
    found = packed([need(3, 1), need(1, 3)], [10, 10], [offer(4, 4, price=1.0)])
    assert (found.price, found.left) == (10.0, [0, 0])


def test_equal_nodes_are_opened_at_once() -> None:
    found = packed([need(1)], [100_000], [offer(10, price=1.0, room=20_000, items=(0,))])
    assert [(batch.times, batch.pattern) for batch in found.batches] == [(10_000, ((0, 10),))]


def test_the_last_pods_get_a_small_node() -> None:
    found = packed([need(1)], [11], [offer(10, price=1.0, items=(0,)), offer(1, price=0.15, items=(0,))])
    assert round(found.price, 2) == 1.15


def test_an_offer_without_room_leaves_the_rest_to_the_next() -> None:
    found = packed([need(1)], [5], [offer(1, price=0.1, room=2, items=(0,)), offer(1, price=0.3, items=(0,))])
    assert {batch.offer: batch.times for batch in found.batches} == {0: 2, 1: 3}


def test_what_fits_nowhere_is_left() -> None:
    found = packed([need(1), need(9)], [5, 2], [offer(4, price=1.0, items=(0,))])
    assert found.left == [0, 2]


@pytest.mark.feature("FS-09")
@pytest.mark.parametrize("price", [float("inf"), float("nan"), float("-inf"), -1.0, 0.0])
def test_an_offer_whose_price_compares_with_no_other_is_not_opened_and_the_packing_ends(price: float) -> None:
    found = packed([need(1), need(2)], [5, 1], [offer(4, price=price), offer(1, price=0.3, items=(0,))])
    assert {batch.offer: batch.times for batch in found.batches} == {1: 5}
    assert found.left == [0, 1]


def test_a_limit_truncates() -> None:
    class Three(Limiter):
        left = 3

        def most(self, offer: int, wanted: int) -> int:
            return min(wanted, self.left)

        def take(self, offer: int, nodes: int) -> None:
            self.left -= nodes

    found = packed([need(1)], [50], [offer(10, price=1.0, items=(0,))], Three)
    assert (found.left, found.price) == ([20], 3.0)


def test_51000_pods_of_two_sizes_fill_their_nodes_to_the_last_slice() -> None:
    """Cluster Autoscaler's own benchmark: 2,595 nodes are the least."""
    found = packed([need(50, 1), need(95, 1)], [50_000, 1_000], [offer(1000, 100, price=1.0, room=3000)])
    assert found.price == 2595.0


def test_pods_that_keep_from_each_other_have_a_node_each_and_share_it_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dimension 2 is one such pod a node. Seen in the first round: those after it learn it from what was paid."""
    monkeypatch.setattr("spillway.planner.pack.ROUNDS", 1)
    alone, other = need(1, 1, 1), need(1, 1)
    found = packed([alone, other], [10, 30], [offer(4, 4, 1, price=1.0), offer(31, 31, 1, price=7.0)])
    assert (found.price, found.left) == (10.0, [0, 0])


def test_who_looks_for_another_goes_to_the_node_once_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dimension 2 is what the one brings and the others must find: the largest is filled in first, and too early."""
    monkeypatch.setattr("spillway.planner.pack.ROUNDS", 1)
    large, small = (Need(((0, amount),), wants=(2,)) for amount in (3, 1))
    brings = Need(((0, 2),), drains=((2, -1),))
    found = packed([large, brings, small], [1, 4, 2], [offer(5, 1, 0, price=1.0, items=(0, 1, 2))])
    assert (found.batches[0].pattern, found.left[2]) == (((1, 2), (2, 1)), 0)


@pytest.mark.parametrize("seed", range(20))
def test_each_node_holds_its_pods_and_none_is_lost(seed: int) -> None:
    draw = random.Random(seed)
    needs = [
        Need(
            ((0, draw.randint(1, 9)), (1, draw.randint(1, 9)), *([(2, 1)] if draw.random() < 0.3 else [])),
            wants=(3,) if draw.random() < 0.2 else (),
            drains=((3, 1),) if draw.random() < 0.3 else (),
        )
        for _ in range(30)
    ]
    counts = [draw.randint(0, 20) for _ in needs]
    haves = [(draw.randint(9, 40), draw.randint(9, 40), draw.randint(1, 3), 1) for _ in range(8)]
    offers = [offer(*have, price=sum(have) / 10, items=draw.sample(range(30), 20)) for have in haves]
    found = packed(needs, counts, offers)
    left = list(counts)
    for batch in found.batches:
        assert batch.times > 0
        free = list(offers[batch.offer].have)
        for item, number in batch.pattern:
            assert item in offers[batch.offer].items
            assert most(free, needs[item], number) == number
            subtract(free, needs[item], number)
            left[item] -= number * batch.times
    assert left == found.left
    assert min(left) >= 0
    able = frozenset().union(*(one.items for one in offers))
    assert all(not left[item] for item in able), "rooms are plenty"
