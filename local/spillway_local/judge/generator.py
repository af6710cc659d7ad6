"""Random worlds by seed: the same seed and features, the same bytes."""

from spillway_local.judge import groups, launches, nodes, volumes, workload
from spillway_local.judge.features import Feature
from spillway_local.judge.scene import ZONES, Aim, Dice, Object, Scene, namespaces
from spillway_local.judge.world import RandomWorld

PENDING = (20, 20, 22, 24, 26, 28, 30, 36, 42, 60)


def generate(seed: int, features: frozenset[Feature]) -> RandomWorld:
    """A cluster with its fleet that has all of `features`, and pods of which some fit nowhere."""
    dice, prefix = Dice(seed), f"s{seed}"
    spaces = tuple(f"{prefix}-{name}" for name in ("alpha", "beta", "gamma")[: dice.randint(2, 3)])
    zones = ZONES[: dice.randint(1, 3)]
    scene = Scene(seed, prefix, dice, features, spaces, zones)
    answers = groups.answers(scene)
    known = launches.read(answers).groups
    standing = nodes.existing(scene, answers, known)
    policy = groups.set_limits(scene, answers)
    machines = [one.node for one in standing]
    objects = [
        *namespaces(scene), *volumes.classes(scene), *machines, *volumes.of_nodes(scene, machines),
        *(pod for one in standing for pod in one.pods), *workload.daemons(scene, machines),
        *_pending(scene, [launches.aim_of(group) for group in known], [one.aim for one in standing]),
    ]  # fmt: skip
    return RandomWorld(seed, prefix, features, tuple(objects), answers, policy, launches.closed_zones(scene))


def _pending(scene: Scene, aims: list[Aim], machines: list[Aim]) -> list[Object]:
    """Pods in five to fifteen shapes; most are made for a group's node, some for one that is there."""
    dice, found = scene.dice, list[Object]()
    forms = []
    for number in range(dice.randint(5, 15)):
        aim = dice.pick(machines) if machines and dice.chance(0.2) else dice.pick(aims)
        forms.append(workload.template(scene, scene.named(f"w{number}"), aim))
    counts = dict.fromkeys(range(len(forms)), 0)
    for _ in range(dice.pick(PENDING)):
        number = dice.randrange(len(forms))
        age_s = dice.pick((60.0, 600.0, dice.uniform(60, 3000)))
        found += workload.waiting(scene, forms[number], counts[number], age_s)
        counts[number] += 1
    return found
