"""Who prefers what, compiled: nodes that no preference tells apart are one kind, and so are shapes that prefer the same.

Sources: NodeAffinity, TaintToleration, PodTopologySpread and InterPodAffinity of kube-scheduler, their Score.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from spillway.model.cluster import PodShape, Taint, Toleration
from spillway.model.policy import PreferencePolicy
from spillway.model.selector import UNTOLD, PreferredTerm
from spillway.planner.rules.base import NAME_FIELD, ZONE_SENSITIVE, Host
from spillway.planner.rules.node_affinity import keys_of, missed
from spillway.planner.rules.taints import tolerates
from spillway.planner.topology.terms import HOSTNAME, Shapes, Terms, Wish, where_of
from spillway.planner.view import View


class Shared(NamedTuple):
    """A wish of pods that count the same nodes: `where` as `where_of` has it, () without a spread."""

    wish: Wish
    where: Hashable = ()


class Feeling(NamedTuple):
    """All that a pod prefers. `own` are its wishes, one as often as it says it; `of_others` those that speak of it."""

    terms: tuple[PreferredTerm, ...]
    tolerations: tuple[Toleration, ...]
    own: tuple[Shared, ...]
    of_others: tuple[Shared, ...]


class Preferences:
    """Of one plan. `owners` are ids of shapes by wish, waiting or not; `samples` stand for the pods that have it.

    `keys` are those of wishes about other pods. Where the policy ignores preferences, nobody has any.
    """

    def __init__(self, view: View, waiting: Sequence[PodShape], terms: Terms, shapes: Shapes) -> None:
        respected = view.policy.pods.preference_policy is PreferencePolicy.RESPECT
        self.waiting = list(waiting) if respected else []
        self.shapes = shapes
        self._terms = terms
        ids = frozenset(shape.id for shape in self.waiting)
        self.owners: dict[Shared, set[str]] = defaultdict(set)
        self.samples: dict[Shared, PodShape] = {}
        self._own: dict[str, list[Shared]] = defaultdict(list)
        self._of_others: dict[str, list[Shared]] = defaultdict(list)
        for shape in view.shapes.values() if ids else ():
            self._compile(shape, ids)
        self._hear(ids)
        self.keys = sorted({shared.wish.key for shared in self.owners})
        read = set(keys_of([preferred.term for shape in self.waiting for preferred in shape.preferred_nodes]))
        self._named = NAME_FIELD in read
        self._labels = sorted((read - {NAME_FIELD}).union(key for key in self.keys if key != HOSTNAME))
        self._zonal = not ZONE_SENSITIVE.isdisjoint(self._labels)
        self._likes: dict[Hashable, int] = {}
        self._hosts: list[Host] = []
        self._feelings: dict[str, int] = {}
        self._known: dict[Feeling, int] = {}
        self.feelings: list[Feeling] = []

    def _compile(self, shape: PodShape, waiting: frozenset[str]) -> None:
        for wish in self._terms.wishes(shape) if shape.spread or shape.pod_affinity or shape.pod_anti_affinity else ():
            shared = Shared(wish, where_of(wish.spread, shape) if wish.spread else ())
            if shape.id in waiting:
                self._own[shape.id].append(shared)
            elif wish.spread:
                continue  # the scheduler asks the spreads of the pod that comes alone
            self.owners[shared].add(shape.id)
            self.samples.setdefault(shared, shape)

    def _hear(self, waiting: frozenset[str]) -> None:
        """Whom a wish speaks of; one of nobody who waits, about nobody who waits, is none."""
        for shared, owners in list(self.owners.items()):
            heard = self.shapes.included(shared.wish.pods) & waiting
            for one in heard:
                self._of_others[one].append(shared)
            if not heard and owners.isdisjoint(waiting):
                del self.owners[shared]

    @property
    def is_silent(self) -> bool:
        """Nobody prefers anything, as far as `like` was asked."""
        return not (self._labels or self._named or self.owners or any(host.soft for host in self._hosts))

    def like(self, host: Host) -> int:
        """Small integers: equal for nodes that no preference tells apart, but for their names."""
        if not self.waiting:
            return 0
        labels = host.labels
        key = (
            host.name if self._named else "",
            tuple([labels.get(key) for key in self._labels]),
            host.zones if self._zonal else (),
            host.differing(self._labels) if host.variants else (),
            host.soft,
        )
        kind = self._likes.setdefault(key, len(self._hosts))
        if kind == len(self._hosts):
            self._hosts.append(host)
        return kind

    def host(self, like: int) -> Host:
        """One that stands for all of the kind."""
        return self._hosts[like]

    def values(self, like: int, key: str) -> tuple[str, ...]:
        """Of a topology key: one, those among which its group will choose, or () without any that is known."""
        found = {one.labels.get(key, UNTOLD) for one in self.host(like).each((key,))}
        return () if UNTOLD in found else tuple(sorted(found))

    def feeling(self, shape: PodShape) -> int:
        """Small integers: equal for pods that prefer the same."""
        if shape.id not in self._feelings:
            soft = any(host.soft for host in self._hosts)
            preferred = tuple(one for one in shape.preferred_nodes if one.weight > 0)
            own, of_others = self._own.get(shape.id, ()), self._of_others.get(shape.id, ())
            found = Feeling(preferred, shape.tolerations if soft else (), tuple(own), tuple(of_others))
            self._feelings[shape.id] = self._known.setdefault(found, len(self.feelings))
            if len(self._known) > len(self.feelings):
                self.feelings.append(found)
        return self._feelings[shape.id]

    def has_any(self, feeling: int) -> bool:
        """Whether places are not all one to such a pod."""
        felt = self.feelings[feeling]
        return bool(felt.terms or felt.own or felt.of_others) or any(host.soft for host in self._hosts)

    def met(self, feeling: int, like: int) -> int:
        """The weights of the preferred node terms that hold, whichever node of several that its group may bring comes."""
        hosts = self._hosts[like].each(self._labels)
        return min(sum(t.weight for t in self.feelings[feeling].terms if missed((t.term,), one) is None) for one in hosts)

    def disliked(self, feeling: int, like: int) -> int:
        """How many PreferNoSchedule taints of the node it does not tolerate."""
        return len(list(self._untolerated(self.feelings[feeling], self._hosts[like])))

    @staticmethod
    def _untolerated(feeling: Feeling, host: Host) -> Iterable[Taint]:
        return (taint for taint in host.soft if not any(tolerates(one, taint) for one in feeling.tolerations))


def unasked(view: View) -> Preferences:
    """Where it is only asked where pods may be."""
    return Preferences(view, (), Terms({}), Shapes(()))
