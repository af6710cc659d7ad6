"""What a node costs by the policy's own list, and what is paid already: such nodes are used first and cost nothing more."""

from datetime import timedelta
from typing import Any

import pytest

from spillway.errors import PolicyError
from spillway.model.fleet import NodeGroup
from spillway.model.market import Offering
from spillway.model.memory import Memory
from spillway.model.plan import Plan
from spillway.model.policy import Prices
from spillway.model.policy_document import parse
from spillway.planner import paid, prices
from spillway.planner.view import view
from tests.builders import NOW, cluster, desired, fleet, group, instance, node, plan_for, pod, policy

LARGE = Offering(instance_type="m5.large", vcpus=2, on_demand_usd_h=0.1, spot_usd_h={"us-east-1a": 0.02, "us-east-1b": 0.04})
XLARGE = Offering(instance_type="m5.xlarge", vcpus=4, on_demand_usd_h=0.2, spot_usd_h={"us-east-1a": 0.06})


def of(name: str, offering: Offering = XLARGE, price: float = 0.2, **fields: Any) -> NodeGroup:
    """A group of one type, at AWS's price; a node of it holds one pod of `pods`."""
    return group(name, types=(offering.instance_type,), offerings=(offering,), price=price, **fields)


def pods(count: int) -> Any:
    return pod("p", cpu="3", count=count)


def plan(*objects: Any, **listed: Any) -> Plan:
    return plan_for(*objects, rules=policy(prices=listed))


@pytest.mark.feature("FS-09")
class TestOwnPrices:
    @pytest.mark.parametrize(
        ("listed", "price"),
        [
            ({"on_demand": {"m5.xlarge": 0.05}}, 0.05),
            ({"on_demand": {"m5.*": 0.06}}, 0.06),
            ({"on_demand": {"m5.*": 0.06, "m5.xlarge": 0.05}}, 0.05),
            ({"on_demand": {"us-east-1/m5.*": 0.07, "m5.*": 0.06}}, 0.07),
            ({"on_demand": {"us-west-2/m5.xlarge": 0.05}}, 0.2),
            ({"discount_percent": {"m5.*": 25}}, 0.15),
            ({"on_demand": {"m5.xlarge": 0.05}, "discount_percent": {"m5.*": 25}}, 0.05),
            ({"discount_percent": {"c5.*": 25}}, 0.2),
        ],
    )
    def test_it_stands_in_place_of_aws_price_for_types_that_it_names(self, listed: dict[str, Any], price: float) -> None:
        assert prices.of(of("g"), Prices(**listed)) == pytest.approx(price)

    def test_the_choice_of_groups_goes_by_it_and_the_step_tells_it(self) -> None:
        groups = of("a", price=0.2), of("b", LARGE, price=0.1)

        found = plan(pods(1), *groups, on_demand={"m5.xlarge": 0.05})

        assert desired(found) == {"a": 1}
        assert " at 0.05 USD an hour " in found.scale_out[0].reason.text
        assert found.summary.price_usd_h_new == 0.05

    def test_spot_keeps_aws_price_and_a_mixed_group_counts_the_own_one_by_its_share(self) -> None:
        own = Prices(on_demand={"m5.xlarge": 0.1})
        spot = of("s", spot=True, on_demand_share=0.0, price=0.06)

        assert prices.of(spot, own) == 0.06
        assert prices.of(of("m", on_demand_share=0.25), own) == pytest.approx(0.25 * 0.1 + 0.75 * 0.06)

    def test_a_group_that_spans_zones_costs_the_mean_of_them_one_of_a_zone_what_that_zone_costs(self) -> None:
        own = Prices(on_demand={"x.*": 1})  # any list, so that the price is worked out here
        wide = of("w", LARGE, spot=True, on_demand_share=0.0, zones=("us-east-1a", "us-east-1b"))
        narrow = of("n", LARGE, spot=True, on_demand_share=0.0, zones=("us-east-1b",))

        assert prices.of(wide, own) == pytest.approx(0.03)
        assert prices.of(narrow, own) == 0.04

    def test_a_group_that_launches_the_cheapest_type_counts_the_cheapest_own_price(self) -> None:
        both = group("g", types=("m5.large", "m5.xlarge"), offerings=(LARGE, XLARGE), takes_cheapest=True)

        assert prices.of(both, Prices(on_demand={"m5.xlarge": 0.03})) == 0.03

    def test_a_price_of_the_shipped_table_is_told_unless_the_own_list_has_one(self) -> None:
        guessed = of("g", Offering(instance_type="m5.xlarge", on_demand_usd_h=0.2, shipped=True))

        told = [(str(one.code), one.text) for one in plan(guessed).warnings]
        assert told == [
            (
                "price_shipped",
                "the on-demand price of m5.xlarge in us-east-1 is a guess: AWS told none, so that of us-east-1 in the table "
                "that comes with Spillway is taken",
            )
        ]
        assert plan(guessed, on_demand={"m5.*": 0.1}).warnings == ()


@pytest.mark.feature("FS-09")
class TestPaid:
    def test_what_is_paid_is_used_first_even_where_the_type_is_dearer(self) -> None:
        found = plan(pods(3), of("paid"), of("cheap", LARGE, price=0.1), paid=[{"instance_type": "m5.xlarge", "count": 2}])

        assert desired(found) == {"paid": 2, "cheap": 1}
        assert found.summary.price_usd_h_new == 0.1
        assert " at 0.2 USD an hour, 2 of them paid already for " in found.scale_out[1].reason.text

    def test_beyond_the_count_the_price_is_the_full_one(self) -> None:
        found = plan(pods(3), of("g"), paid=[{"instance_type": "m5.xlarge", "count": 1}])

        assert desired(found) == {"g": 3}
        assert found.summary.price_usd_h_new == pytest.approx(0.4)

    def test_what_runs_on_it_already_is_taken_off(self) -> None:
        running = node("n", cpu="4")
        full = pod("busy", cpu="3", node="n")

        found = plan(
            pods(2), running, full, of("g", nodes=[running]), of("cheap", LARGE, price=0.1),
            paid=[{"instance_type": "m5.xlarge", "count": 2}],
        )  # fmt: skip

        assert desired(found) == {"g": 2, "cheap": 1}
        summary = found.summary
        assert (summary.price_usd_h_before, summary.price_usd_h_new, summary.price_usd_h_after) == (0.0, 0.1, 0.1)

    def test_what_is_on_its_way_is_taken_off(self) -> None:
        coming = instance("new", lifecycle="Pending", age_s=30)

        found = plan(
            pod("p", cpu="4", count=2), of("g", instances=[coming], cpu="3"), of("other", LARGE, price=0.1),
            paid=[{"instance_type": "m5.xlarge", "count": 1}],
        )  # fmt: skip

        assert desired(found) == {"other": 2}

    def test_a_node_that_goes_leaves_its_place_to_one_that_was_not_paid(self) -> None:
        nodes = [node("a"), node("b")]

        found = plan_for(
            *nodes, of("g", nodes=nodes), pod("busy", node="b"), idle_since=NOW - timedelta(days=1),
            rules=policy(prices={"paid": [{"instance_type": "m5.xlarge", "count": 1}]}),
        )  # fmt: skip

        assert (found.summary.nodes_removed, found.summary.price_usd_h_before, found.summary.price_usd_h_after) == (1, 0.2, 0.0)

    def test_groups_of_the_same_types_share_it(self) -> None:
        found = plan(pods(4), of("a"), of("b"), paid=[{"instance_type": "m5.*", "count": 3}])

        assert sum(desired(found).values()) == 4
        assert found.summary.price_usd_h_new == pytest.approx(0.2)

    def test_vcpus_are_shared_by_sizes(self) -> None:
        six = [{"instance_type": "m5.*", "vcpus": 6}]
        small = of("l", LARGE, price=0.1, cpu="2")

        assert plan(pods(1), pod("q", cpu="1500m"), of("x"), small, paid=six).summary.price_usd_h_new == 0
        assert plan(pods(2), of("x"), paid=six).summary.price_usd_h_new == pytest.approx(0.2), "6 vCPUs hold one of 4"

    @pytest.mark.parametrize(
        "entry",
        [
            {"instance_type": "c5.*", "count": 9},
            {"instance_type": "m5.*", "region": "us-west-2", "count": 9},
            {"instance_type": "m5.*", "zone": "us-east-1b", "count": 9},
            {"instance_type": "m5.*", "until": NOW, "count": 9},
        ],
        ids=["another type", "another region", "another zone", "over"],
    )
    def test_it_holds_for_its_types_region_zone_and_time_only(self, entry: dict[str, Any]) -> None:
        assert plan(pods(1), of("g"), paid=[entry]).summary.price_usd_h_new == 0.2

    @pytest.mark.parametrize(
        "fields",
        [
            {"spot": True, "on_demand_share": 0.0},
            {"on_demand_share": 0.5},
            {"zones": ("us-east-1a", "us-east-1b")},
        ],
        ids=["spot", "half spot", "several zones"],
    )
    def test_nodes_of_which_nobody_is_sure_that_they_use_it_cost_their_price(self, fields: dict[str, Any]) -> None:
        zonal = [{"instance_type": "m5.*", "zone": "us-east-1a", "count": 9}]

        assert plan(pods(1), of("g", **fields), paid=zonal).summary.price_usd_h_new == 0.2
        assert plan(pods(1), of("g"), paid=zonal).summary.price_usd_h_new == 0.0

    def test_the_price_of_the_next_nodes_is_nothing_up_to_what_is_left(self) -> None:
        listed = [{"instance_type": "m5.xlarge", "count": 3}]
        rules = policy(prices={"paid": listed})
        g = of("g", instances=[instance("one")])
        left = paid.paid(view(cluster(), fleet(g), Memory(), rules, NOW), {g.key: 1})

        assert [left.price(g, 0.2, number) for number in range(4)] == [0.0, 0.0, 0.2, 0.2]


@pytest.mark.feature("FS-09")
@pytest.mark.parametrize(
    ("section", "field", "problem"),
    [
        ({"currency": "EUR"}, "prices.currency", "USD"),
        ({"on_demand": {"m5.large": -1}}, "prices.on_demand.m5.large", "greater than or equal to 0"),
        ({"discount_percent": {"m5.*": 101}}, "prices.discount_percent.m5.*", "less than or equal to 100"),
        ({"paid": [{"instance_type": "m5.*"}]}, "prices.paid[0]", "either count or vcpus is wanted"),
        ({"paid": [{"instance_type": "m5.*", "count": 1, "until": "2026-01-01T00:00:00"}]}, "prices.paid[0].until", "timezone"),
    ],
)
def test_a_wrong_price_list_is_refused_by_field(section: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(PolicyError) as refused:
        parse({"prices": section}, "policy.yaml")

    assert [path for path, _ in refused.value.problems] == [field]
    assert problem in str(refused.value)
