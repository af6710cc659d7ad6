"""What Auto Scaling does on its own: take from the warm pool, launch up to desired, try again while EC2 refuses, end what is
too much.

Stock moto launches everything at once and never fails. Here a launch is Pending for its boot time, a refusal is a Failed
activity some seconds later, and the group tries again for as long as it wants more than it has, all by the clock.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from threading import RLock
from typing import Any

from moto.autoscaling.models import InstanceState
from moto.ec2.models.instances import InstanceState as MachineState

from spillway_local.clock import Timer, VirtualClock
from spillway_local.emulator import activities, hooks, offers, warm_pools
from spillway_local.emulator.activities import FAILED, SUCCESSFUL, Activity, ActivityLog
from spillway_local.emulator.pools import Offer, Pools

PENDING, IN_SERVICE, TERMINATING = "Pending", "InService", "Terminating"
_RUNNING, _ENDING, _STOPPED = ("running", 16), ("shutting-down", 32), ("stopped", 80)

Emit = Callable[[str, str, str, dict[str, Any], list[str]], None]
"""(region, source, detail-type, detail, resources) of an EventBridge event."""
Watch = Callable[[Any, Any], None]
"""Called with moto's group and instance when it is in service, and when it begins to end."""


def _nothing(*_: object) -> None:
    pass


@dataclass
class Timing:
    """Virtual seconds. `retry_s`: how often a group that wants more tries again."""

    boot_s: float = 45.0
    start_s: float = 15.0  # of what a warm pool has prepared
    refuse_s: float = 4.0
    retry_s: float = 60.0
    end_s: float = 30.0


@dataclass
class Launches:
    """The controller of all groups in all regions; callers hold `lock`."""

    clock: VirtualClock
    pools: Pools = field(default_factory=Pools)
    timing: Timing = field(default_factory=Timing)
    log: ActivityLog = field(default_factory=ActivityLog)
    lock: Any = field(default_factory=RLock)
    emit: Emit = _nothing
    in_service: Watch = _nothing
    ending: Watch = _nothing
    _retries: dict[str, Timer] = field(default_factory=dict)

    def settle(self, group: Any) -> None:
        """Begins to make the group what its desired capacity says."""
        have, want = sum(offers.weight(group, state) for state in members(group)), group.desired_capacity or 0
        if have > want:
            self._shrink(group, have - want)
        elif have < want and "Launch" not in group._suspended_processes:
            self._grow(group, want - have)

    def adopt(self, group: Any, instance_id: str, instance_type: str, zone: str, **fields: Any) -> None:
        """Gives the group a machine that has been in service for long, with the id that it is known by."""
        machine = self._machine(group, Offer(instance_type, fields.pop("market", "on-demand")), zone)
        machine.id, machine._state = instance_id, MachineState(*_RUNNING)
        machine.launch_time = fields.pop("launched_at", self.clock.now())
        self._add(group, InstanceState(machine, IN_SERVICE, **fields))

    def prepare(self, group: Any, member: Mapping[str, Any], launched_at: datetime) -> None:
        """Puts an instance into the group's warm pool, as DescribeWarmPool tells of it."""
        offer = Offer(member.get("InstanceType") or group.instance_type, "on-demand")
        machine = self._machine(group, offer, member["AvailabilityZone"])
        runs = member["LifecycleState"] == warm_pools.RUNNING
        machine.id, machine._state = member["InstanceId"], MachineState(*(_RUNNING if runs else _STOPPED))
        machine.launch_time = launched_at
        warm_pools.put(group, InstanceState(machine, member["LifecycleState"]), member)

    def end(self, group: Any, state: Any, cause: str) -> Activity:
        """Begins to end an instance, which its lifecycle hooks may hold; a second call gives the activity that is under way."""
        if state.lifecycle_state.startswith(TERMINATING):
            return state.ending  # type: ignore[no-any-return]
        description = f"Terminating EC2 instance: {state.instance.id}"
        state.ending = self.log.begin(group, self.clock.now(), description, cause, state.availability_zone)
        state.lifecycle_state, state.held_by = f"{TERMINATING}:Wait", set()
        for hook in hooks.termination(group):
            state.held_by.add(hook.name)
            self.clock.call_in(hook.heartbeat_timeout, partial(self._time_over, group, state, hook.name))
        if not state.held_by:
            self._shut_down(group, state)
        return state.ending  # type: ignore[no-any-return]

    def _time_over(self, group: Any, state: Any, hook: str) -> None:
        self.release(group, state, hook)

    def release(self, group: Any, state: Any, hook: str) -> bool:
        """The hook holds the instance no longer; False when it did not."""
        with self.lock:
            if hook not in state.held_by:
                return False
            state.held_by.remove(hook)
            if not state.held_by:
                self._shut_down(group, state)
            return True

    def lose(self, group: Any, state: Any) -> None:
        """The machine is gone from one moment to the next; the group finds out and launches another."""
        with self.lock:
            cause = (
                f"At {self.clock.now():%Y-%m-%dT%H:%M:%SZ} an instance was taken out of service in response to an EC2 health "
                "check indicating it has been terminated or stopped."
            )
            self.end(group, state, cause)
            self.settle(group)

    def _grow(self, group: Any, missing: int) -> None:
        if (waiting := self._retries.pop(group.arn, None)) is not None:
            waiting.cancel()
        while missing > 0 and (state := warm_pools.take(group)) is not None:
            missing -= offers.weight(group, state) if self._start(group, state) else 0
        refused: Counter[tuple[str, str]] = Counter()  # text and zone of the refusals
        while missing > 0:
            offer, zone, text = offers.choose(group, members(group), self.pools)
            if text:
                refused[text, zone] += 1
                break  # AWS refuses the whole request, one activity tells of it
            self._launch(group, offer, zone)
            missing -= offer.weight
        for text, zone in refused:
            self._refuse(group, text, zone)

    def _launch(self, group: Any, offer: Offer, zone: str) -> None:
        now, have = self.clock.now(), len(members(group))
        machine = self._machine(group, offer, zone)
        self.pools.take(group.region, offer.instance_type, zone)
        state = InstanceState(machine, PENDING, protected_from_scale_in=group.new_instances_protected_from_scale_in)
        self._add(group, state)
        cause = activities.grown(now, have, have + 1)
        activity = self.log.begin(group, now, f"Launching a new EC2 instance: {machine.id}", cause, zone)
        self.clock.call_in(self.timing.boot_s, lambda: self._booted(group, state, activity))

    def _start(self, group: Any, state: Any) -> bool:
        """What was prepared comes into the group; False where EC2 has no capacity for one that was stopped, which is ended."""
        now, have, machine = self.clock.now(), len(members(group)), state.instance
        kind, zone = state.instance_type, state.availability_zone
        description = f"Launching a new EC2 instance from warm pool: {machine.id}"
        activity = self.log.begin(group, now, description, activities.grown(now, have, have + 1), zone)
        if state.lifecycle_state != warm_pools.RUNNING:
            if not self.pools.has(group.region, kind, zone):
                self.log.end(activity, now, FAILED, activities.no_capacity(kind, zone, (), "on-demand"))
                self._tell(group, activity, "EC2 Instance Launch Unsuccessful", machine.id)
                machine.terminate()
                return False
            self.pools.take(group.region, kind, zone)
            machine.launch_time, machine._state = now, MachineState("pending", 0)
        state.lifecycle_state = PENDING
        self._add(group, state)
        self.clock.call_in(self.timing.start_s, lambda: self._booted(group, state, activity))
        return True

    @staticmethod
    def _add(group: Any, state: Any) -> None:
        state.weighted_capacity = offers.declared_weight(group, state)
        group.instance_states.append(state)

    def _machine(self, group: Any, offer: Offer, zone: str) -> Any:
        template = group.ec2_launch_template
        reservation = group.ec2_backend.run_instances(
            group.image_id, 1, group.user_data, group.security_groups,
            instance_type=offer.instance_type, is_instance_type_default=False, placement=zone, subnet_id=None,
            tags={"instance": group.get_propagated_tags() | group.instance_tags | {offers.GROUP_TAG: group.name}},
            launch_config=group.launch_config, launch_template={"LaunchTemplateId": template.id} if template else None,
            lifecycle="spot" if offer.market == "spot" else None,
        )  # fmt: skip
        machine = reservation.instances[0]
        machine.autoscaling_group = group
        machine.launch_time, machine._state = self.clock.now(), MachineState("pending", 0)
        return machine

    def _booted(self, group: Any, state: Any, activity: Activity) -> None:
        with self.lock:
            if state.lifecycle_state != PENDING:
                self.log.end(activity, self.clock.now(), "Cancelled")
                return
            machine = state.instance
            state.lifecycle_state, machine._state = IN_SERVICE, MachineState(*_RUNNING)
            self._tell(group, activity, "EC2 Instance Launch Successful", machine.id)
            self.log.end(activity, self.clock.now(), SUCCESSFUL)
            self._tell_state(group, machine)
        self.in_service(group, machine)

    def _refuse(self, group: Any, text: str, zone: str) -> None:
        now, have = self.clock.now(), len(members(group))
        cause = activities.grown(now, have, group.desired_capacity)
        activity = self.log.begin(group, now, "Launching a new EC2 instance.", cause, zone)

        def told() -> None:
            with self.lock:
                self.log.end(activity, self.clock.now(), FAILED, text)
                self._tell(group, activity, "EC2 Instance Launch Unsuccessful", "")

        def again() -> None:
            with self.lock:
                self._retries.pop(group.arn, None)
                self.settle(group)

        self.clock.call_in(self.timing.refuse_s, told)
        self._retries[group.arn] = self.clock.call_in(self.timing.retry_s, again)

    def _shrink(self, group: Any, surplus: int) -> None:
        """Ends the oldest of the zone that has most, never a protected one (the default termination policy)."""
        while surplus > 0 and "Terminate" not in group._suspended_processes:
            open_to_end = [state for state in members(group) if not state.protected_from_scale_in]
            if not open_to_end:
                return
            in_zone = Counter(state.availability_zone for state in members(group))
            state = max(open_to_end, key=lambda state: in_zone[state.availability_zone])
            surplus -= offers.weight(group, state)
            if surplus >= 0:
                have = len(members(group))
                self.end(group, state, activities.shrunk(self.clock.now(), have, have - 1))

    def _shut_down(self, group: Any, state: Any) -> None:
        state.lifecycle_state, state.instance._state = TERMINATING, MachineState(*_ENDING)
        self._tell_state(group, state.instance)
        self.ending(group, state.instance)
        self.clock.call_in(self.timing.end_s, lambda: self._gone(group, state))

    def _gone(self, group: Any, state: Any) -> None:
        with self.lock:
            machine = state.instance
            machine.terminate()
            group.instance_states.remove(state)
            self.pools.give(group.region, state.instance_type, state.availability_zone)
            self.log.end(state.ending, self.clock.now(), SUCCESSFUL)
            self._tell(group, state.ending, "EC2 Instance Terminate Successful", machine.id)
            self._tell_state(group, machine)
            self.settle(group)

    def _tell(self, group: Any, activity: Activity, kind: str, instance_id: str) -> None:
        detail = activities.event_detail({"EndTime": self.clock.now()} | activity, instance_id)
        self.emit(group.region, "aws.autoscaling", kind, detail, [group.arn])

    def _tell_state(self, group: Any, machine: Any) -> None:
        detail = {"instance-id": machine.id, "state": machine.state}
        arn = f"arn:aws:ec2:{group.region}:{group.account_id}:instance/{machine.id}"
        self.emit(group.region, "aws.ec2", "EC2 Instance State-change Notification", detail, [arn])


def members(group: Any) -> list[Any]:
    """What counts towards desired: in service or on the way there."""
    return [state for state in group.instance_states if state.lifecycle_state in (PENDING, IN_SERVICE)]
