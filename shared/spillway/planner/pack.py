"""New nodes for what waits, for the least price: by shape and in batches of equal nodes, never pod by pod.

Again and again the node with the most packed value per dollar is opened, as many equal ones at once as the pods
allow. A class's value is what a pod of it must cost at least: over all offers, its dominant share of the node
times the node's price. So the score of a node is the part of its price that is well spent. Several
runs weigh the classes anew by what their nodes came to cost in the run before; the cheapest run is taken.

No clock and no randomness: ties end by index, and the work is bounded by counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from spillway.planner.amounts import Need
from spillway.planner.greedy import Limiter, Packing, Run
from spillway.planner.stock import Offer, Stock

ROUNDS = 30
WORK = 600_000  # looks at one class or item for one node, over all rounds: about half a second
STEP = 0.7  # how far values go at once to what was paid


def pack(
    needs: Sequence[Need],
    counts: Sequence[int],
    offers: Sequence[Offer],
    resources: int,
    limiter: Callable[[], Limiter] = Limiter,
) -> Packing:
    """The cheapest of several runs among those that leave the fewest pods. `limiter` is made anew for each run.

    The first `resources` dimensions are amounts, of which a pod is worth what it takes. An offer without a price, above 0
    and finite, cannot be compared with another: it is not opened.
    """
    offers = [offer if 0 < offer.price < inf else replace(offer, items=frozenset()) for offer in offers]
    stock = Stock(needs, offers, resources)
    values = _least_cost(stock, offers)
    best, spent = Packing(left=list(counts)), 0
    for number in range(ROUNDS):
        run = Run(stock, counts, offers, values, limiter())
        found = run.packing()
        if number == 0 or (sum(found.left), found.price) < (sum(best.left), best.price - 1e-9):
            best = found
        spent += run.work
        if spent * (number + 2) > WORK * (number + 1):
            break  # one more round like these would be more work than allowed
        values = _paid(stock, offers, values, found)
    return best


def _least_cost(stock: Stock, offers: Sequence[Offer]) -> list[float]:
    values = [0.0] * len(stock.size_of)
    for index, offer in enumerate(offers):
        for number in stock.taken(index):
            cost = offer.price * stock.share(number, offer.have)
            if not values[number] or cost < values[number]:
                values[number] = cost
    return values


def _paid(stock: Stock, offers: Sequence[Offer], values: list[float], packing: Packing) -> list[float]:
    """Values a step nearer to what a pod of each class paid: a node's price is divided by the values packed on it."""
    paid, pods = [0.0] * len(values), [0] * len(values)
    for batch in packing.batches:
        packed = sum(values[stock.class_of[item]] * number for item, number in batch.pattern)
        dear = offers[batch.offer].price / packed if packed else 1.0
        for item, number in batch.pattern:
            one = stock.class_of[item]
            paid[one] += dear * values[one] * number * batch.times
            pods[one] += number * batch.times
    return [value + STEP * (paid[i] / pods[i] - value) if pods[i] else value for i, value in enumerate(values)]
