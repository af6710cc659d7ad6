"""The packing itself, on plain numbers."""

import pytest

from spillway.planner.amounts import Need
from spillway.planner.pack import Limiter, Offer, pack


def need(*amounts: int) -> Need:
    return Need(tuple((dimension, amount) for dimension, amount in enumerate(amounts) if amount))


def offer(*have: int, price: float, room: int = 100, items: tuple[int, ...] = (0, 1)) -> Offer:
    return Offer(have, price, room, items)


def test_two_shapes_that_complement_each_other_share_nodes() -> None:
    found = pack([need(3, 1), need(1, 3)], [10, 10], [offer(4, 4, price=1.0)])
    assert (found.price, found.left) == (10.0, [0, 0])


def test_equal_nodes_are_opened_at_once() -> None:
    found = pack([need(1)], [100_000], [offer(10, price=1.0, room=20_000, items=(0,))])
    assert [(batch.times, batch.pattern) for batch in found.batches] == [(10_000, ((0, 10),))]


def test_the_last_pods_get_a_small_node() -> None:
    found = pack([need(1)], [11], [offer(10, price=1.0, items=(0,)), offer(1, price=0.15, items=(0,))])
    assert round(found.price, 2) == 1.15


def test_an_offer_without_room_leaves_the_rest_to_the_next() -> None:
    found = pack([need(1)], [5], [offer(1, price=0.1, room=2, items=(0,)), offer(1, price=0.3, items=(0,))])
    assert {batch.offer: batch.times for batch in found.batches} == {0: 2, 1: 3}


def test_what_fits_nowhere_is_left() -> None:
    found = pack([need(1), need(9)], [5, 2], [offer(4, price=1.0, items=(0,))])
    assert found.left == [0, 2]


@pytest.mark.feature("FS-09")
@pytest.mark.parametrize("price", [float("inf"), float("nan"), float("-inf"), -1.0, 0.0])
def test_an_offer_whose_price_compares_with_no_other_is_not_opened_and_the_packing_ends(price: float) -> None:
    found = pack([need(1), need(2)], [5, 1], [offer(4, price=price), offer(1, price=0.3, items=(0,))])
    assert {batch.offer: batch.times for batch in found.batches} == {1: 5}
    assert found.left == [0, 1]


def test_a_limit_truncates() -> None:
    class Three(Limiter):
        left = 3

        def most(self, offer: int, wanted: int) -> int:
            return min(wanted, self.left)

        def take(self, offer: int, nodes: int) -> None:
            self.left -= nodes

    found = pack([need(1)], [50], [offer(10, price=1.0, items=(0,))], Three)
    assert (found.left, found.price) == ([20], 3.0)


def test_51000_pods_of_two_sizes_fill_their_nodes_to_the_last_slice() -> None:
    """Cluster Autoscaler's own benchmark: 2,595 nodes are the least."""
    found = pack([need(50, 1), need(95, 1)], [50_000, 1_000], [offer(1000, 100, price=1.0, room=3000)])
    assert found.price == 2595.0
